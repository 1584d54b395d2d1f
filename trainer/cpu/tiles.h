/* strip() on the tiles of AMX (Intel SDM, volume 1, chapter 18): eight registers of 16 rows of 64 bytes. A strip is 32
 * rows and a panel 32 columns: four tiles of sums, two of A, two of B. A step of k is 16 units, one TDPBF16PS per tile
 * of sums, which adds the pairs of a row one after the other. A tile of A has 16 rows of 16 units; one of B has 16
 * units of 16 columns, as pack_panels packs them.
 *
 * A thread's tiles have a shape only between tiles_open and tiles_close: every task that multiplies calls both, so that
 * the kernel does not save 8 KiB of tiles at each change of threads later. The kernel's permission to use tiles is
 * level.c's. Included by product.h. */
#pragma once

#define TILE_ROWS 16 /* and units of a tile's row */

/* The registers: sums [upper, lower rows][left, right columns], A [upper, lower], B [left, right]. (The compiler's
 * intrinsics make strings of these numbers, so they cannot be an enum.) */
#define SUM00 0
#define SUM01 1
#define SUM10 2
#define SUM11 3
#define A0    4
#define A1    5
#define B0    6
#define B1    7

/* What LDTILECFG reads (Intel SDM, volume 1, 18.3). */
struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Gives the tiles of A and of the sums `rows` rows in all, 1 to STRIP; it clears all tiles. */
static void shape_tiles(size_t rows)
{
    const uint8_t upper = (uint8_t)smaller(rows, TILE_ROWS);
    const uint8_t lower = rows > TILE_ROWS ? (uint8_t)(rows - TILE_ROWS) : TILE_ROWS;
    struct tile_shapes shapes = {.palette = 1,
                                 .rows = {[SUM00] = upper,
                                          [SUM01] = upper,
                                          [SUM10] = lower,
                                          [SUM11] = lower,
                                          [A0] = upper,
                                          [A1] = lower,
                                          [B0] = TILE_ROWS,
                                          [B1] = TILE_ROWS}};
    for (int i = 0; i < 8; i++)
        shapes.row_bytes[i] = TILE_ROWS * sizeof(unit);
    _tile_loadconfig(&shapes);
}

static void tiles_open(void)
{
    shape_tiles(STRIP);
}

static void tiles_close(void)
{
    _tile_release();
}

/* C (+)= A times a panel, for the rows that the tiles have; `lower`: more than 16. */
static inline __attribute__((always_inline)) void
multiply_tiles(real *c, size_t c_row, struct strips a, const unit *panel, size_t units, const bool lower, bool add)
{
    const size_t c_bytes = c_row * sizeof *c, a_bytes = a.row * sizeof *a.at, b_bytes = PANEL * sizeof *panel;
    real *c_lower = c + TILE_ROWS * c_row;
    _tile_zero(SUM00);
    _tile_zero(SUM01);
    _tile_zero(SUM10);
    _tile_zero(SUM11);
    if (add) {
        _tile_loadd(SUM00, c, c_bytes);
        _tile_loadd(SUM01, c + TILE_ROWS, c_bytes);
    }
    if (add && lower) {
        _tile_loadd(SUM10, c_lower, c_bytes);
        _tile_loadd(SUM11, c_lower + TILE_ROWS, c_bytes);
    }
    for (size_t l = 0; l < units; l += STEP_UNITS) {
        _tile_loadd(B0, panel + l * PANEL, b_bytes);
        _tile_loadd(A0, a.at, a_bytes);
        _tile_dpbf16ps(SUM00, A0, B0);
        _tile_loadd(B1, panel + l * PANEL + TILE_ROWS, b_bytes);
        _tile_dpbf16ps(SUM01, A0, B1);
        if (lower) {
            _tile_loadd(A1, a.at + TILE_ROWS * a.row, a_bytes);
            _tile_dpbf16ps(SUM10, A1, B0);
            _tile_dpbf16ps(SUM11, A1, B1);
        }
        a.at += a.step;
    }
    _tile_stored(SUM00, c, c_bytes);
    _tile_stored(SUM01, c + TILE_ROWS, c_bytes);
    if (lower) {
        _tile_stored(SUM10, c_lower, c_bytes);
        _tile_stored(SUM11, c_lower + TILE_ROWS, c_bytes);
    }
}

/* C [rows, PANEL] (+)= rows of A, at most STRIP, times a panel of `units`, a multiple of STEP_UNITS. */
static void strip(real *c, size_t c_row, struct strips a, const unit *panel, size_t units, size_t rows, bool add)
{
    if (rows == STRIP) {
        multiply_tiles(c, c_row, a, panel, units, true, add);
        return;
    }
    shape_tiles(rows);
    if (rows > TILE_ROWS)
        multiply_tiles(c, c_row, a, panel, units, true, add);
    else
        multiply_tiles(c, c_row, a, panel, units, false, add);
    shape_tiles(STRIP);
}
