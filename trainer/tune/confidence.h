/* 95 % confidence intervals of scores on held-out samples. They hold if the samples are independent; words of one
 * sentence or texts of one author are not, and then the truth is wider. Pure. */
#pragma once

#include <stdbool.h>

struct confidence {
    double low, high;
};

/* Of a share p of n samples, such as an accuracy: Wilson's score interval (Wilson 1927; method 3 of Newcombe 1998):
 * (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n). n > 0. */
struct confidence confidence_share(double p, double n);
/* Of F1 = 2 right / (found + truth): the share J = right / (right + false + missed) has Wilson's interval, and
 * F1 = 2J / (1 + J). found + truth > right. */
struct confidence confidence_f1(double right, double found, double truth);
/* Of a correlation r of n pairs, n > 3: tanh(atanh r ± z s) with s = 1/√(n-3) (Fisher 1921), for ranks
 * s = √((1 + r²/2)/(n-3)) (Bonett and Wright 2000). |r| < 1. */
struct confidence confidence_correlation(double r, double n, bool ranks);
