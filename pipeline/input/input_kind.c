#include "pipeline/input/input_kind.h"

#define ROW(NAME, name) [SOURCE_##NAME] = &name##_kind,
const struct input_kind *const input_kinds[SOURCE_KINDS] = {SOURCE_KIND_LIST(ROW)};

#define FORMAT(NAME, name) [SOURCE_##NAME] = &name##_kind.records,
const struct record_format *const input_formats[SOURCE_KINDS] = {SOURCE_KIND_LIST(FORMAT)};
