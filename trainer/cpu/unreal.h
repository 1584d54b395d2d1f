/* Undoes real.h and the type chosen for it (see each.h). */
#undef NUMBER
#undef real
#undef storage
#undef SQRT
#undef LOAD
#undef STORE
#undef PASTE4
#undef PASTE
#undef NAME
/* … and what product.h said of it */
#undef VECTOR_BYTES
#undef VECTOR_LANES
#undef TILE_VECTORS
#undef PANEL
#undef operand
#undef PER_UNIT
#undef TO_OPERAND
#undef AS_STORED
#undef MULTIPLY_ADD
#undef SPREAD
