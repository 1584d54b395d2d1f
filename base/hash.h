/* XXH3-64 (https://xxhash.com, seed 0): this project's hash of files, names and keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t hash64(const void *data, size_t bytes);

/* Incremental hash: hash_open, hash_add …, hash_value (at any time), hash_close. */
struct hash;
struct hash *hash_open(void);
void hash_add(struct hash *hash, const void *data, size_t bytes);
uint64_t hash_value(const struct hash *hash);
void hash_close(struct hash *hash);

/* 16 hexadecimal digits and a NUL. Returns out. */
char *hash_text(uint64_t hash, char out[17]);
/* Reads exactly 16 hexadecimal digits; 0 on success, -1 otherwise. */
int hash_parse(const char *text, uint64_t *hash);
