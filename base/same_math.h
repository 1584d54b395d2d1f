/* Functions of the C library whose last bit differs between libraries and processors, with the same bits everywhere:
 * each is a fixed sequence of double operations that IEEE 754 rounds, without fused multiply-adds. The formulas are in
 * docs/ARITHMETIC.md. For arguments of size 2^20 at most (sine, cosine) or any (the others), errors are below 2 units
 * of the last place; power's relative error is below 2^-50 (1 + |y log x|). */
#pragma once

double same_log(double x); /* of 0: -infinity; of a negative number: NaN */
double same_exp(double x);
double same_pow(double x, double y); /* x >= 0; exact for y = 1 */
double same_sin(double x);
double same_cos(double x);
double same_tanh(double x); /* relative error below 2^-44 */
