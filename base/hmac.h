/* HMAC-SHA-256 (RFC 2104): proves that whoever sent a message knows a key, without sending the key. */
#pragma once

#include "base/sha256.h"
#include "base/str.h"

#include <stdbool.h>

#define HMAC_BYTES SHA256_BYTES

/* A key of any length, and a message of any length. */
void hmac_sha256(struct str key, struct str message, unsigned char mac[HMAC_BYTES]);

/* Compares in a time that does not depend on the bytes, so that a guess cannot be improved byte by byte. */
bool hmac_same(const unsigned char a[HMAC_BYTES], const unsigned char b[HMAC_BYTES]);
