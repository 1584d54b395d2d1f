#include "trainer/model/architecture.h"

#define ROW(number, row) [number] = &row,
const struct architecture *const architectures[] = {ARCHITECTURES(ROW)};
#undef ROW

#define ROW(row) &row,
const struct layout *const layouts[] = {LAYOUTS(ROW) NULL};
#undef ROW
