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
