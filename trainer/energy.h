/* What a machine's processors and GPUs use, as they count it themselves: all of them, whoever they compute for.
 *
 *     energy_open → energy_poll … → energy_joules → energy_close
 *
 * Processors: Linux's powercap (Documentation/power/powercap/powercap.rst): each directory intel-rapl:* whose `name` is
 * a package or its memory ("dram") has energy_uj, microjoules that start anew above max_energy_range_uj; with kernels
 * since 5.10 only root may read them. GPUs: NVML's nvmlDeviceGetTotalEnergyConsumption, millijoules since the driver
 * was loaded (NVML API Reference, "Device Queries"). Where neither answers, nothing is said. */
#ifndef TRAINER_ENERGY_H
#define TRAINER_ENERGY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ENERGY_POWERCAP "/sys/class/powercap"
#define ENERGY_NVML     "libnvidia-ml.so.1"
#define ENERGY_COUNTERS 64 /* at most; a machine with more does not answer */

struct energy {
    uint32_t zones;    /* of processors that are counted, */
    uint32_t packages; /* of which so many are packages; the others are their memory */
    struct energy_zone {
        char *path;           /* of energy_uj */
        uint64_t range, last; /* microjoules: the largest value, the last one read */
    } items[ENERGY_COUNTERS];
    double processors; /* joules up to the last reading */
    double polled;     /* when that was, clock_now */

    uint32_t gpus;
    const struct nvml *nvml;
    struct energy_gpu {
        void *device;
        uint64_t first; /* millijoules */
    } cards[ENERGY_COUNTERS];
    double from; /* clock_now of the opening */
    bool lost;   /* a counter that answered does so no longer */
};

/* Counts from here on. Of a folder where any package cannot be read nothing is counted, nor of a library that is not
 * there or has no such counter; NULL: not asked. energy_open_here takes the machine's own, or those that DS_POWERCAP
 * and DS_NVML name. */
void energy_open(struct energy *energy, const char *powercap, const char *nvml);
void energy_open_here(struct energy *energy);
void energy_close(struct energy *energy); /* safe on a zeroed one */
/* Reads the processors' counters where that is a second ago or more: one of 300 W starts anew every 15 minutes. */
void energy_poll(struct energy *energy);
/* Joules since the opening; NAN where nobody answers, or no longer. */
double energy_joules(struct energy *energy);

/* "2 processors and 1 GPU" of a struct that answers. */
char *energy_who(const struct energy *energy, char out[64]);
/* "812 J", or "1.23 kWh (4,428,000 J)". */
char *energy_text(double joules, char out[64]);
/* {"joules": …, "kwh": …, "watts": …, "processors": packages, "gpus": …}, which the caller json_decref's. */
json_t *energy_json(const struct energy *energy, double joules, double watts);

#endif
