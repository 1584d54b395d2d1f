/* One instance of a cpu/ file (see each.h): what `real` and `storage` are, how functions are named, and the functions
 * that instances of different files share. Undone by unreal.h. */
#if NUMBER == 64
#define real    double
#define storage double
#define SQRT(x) sqrt(x)
#elif NUMBER == 32
#define real    float
#define storage float
#define SQRT(x) sqrtf(x)
#else
#define real    float
#define storage uint16_t
#define SQRT(x) sqrtf(x)
#endif

#if NUMBER == 16
#define LOAD(stored) bf16_to_float(stored)
#define STORE(value) bf16_from_float(value)
#elif NUMBER == 17
#define LOAD(stored) fp16_to_float(stored)
#define STORE(value) fp16_from_float(value)
#else
#define LOAD(stored) (stored)
#define STORE(value) (value)
#endif

#define PASTE4(a, b, c, d) a##b##c##d
#define PASTE(a, b, c, d)  PASTE4(a, b, c, d)
#define NAME(name)         PASTE(name##_, NUMBER, _level, LEVEL)

/* Each file puts its functions into the table. */
void NAME(install_embed)(struct ops *ops);
void NAME(install_norm)(struct ops *ops);
void NAME(install_linear)(struct ops *ops);
void NAME(install_attention)(struct ops *ops);
void NAME(install_loss)(struct ops *ops);
void NAME(install_rows)(struct ops *ops);
void NAME(install_update)(struct ops *ops);

/* Bytes of device->work for a thread. */
size_t NAME(linear_work)(void);

/* Bytes of scratch for one call of attention_backward, all threads. */
size_t NAME(attention_scratch)(const struct ops_limits *limits, int threads);
