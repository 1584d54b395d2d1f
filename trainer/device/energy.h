/* The energy that a machine's processors and GPUs use, from their own counters. All of them are counted, including what
 * they do for other programs.
 *
 *     energy_open → energy_poll … → energy_joules → energy_close
 *
 * Processors: Linux's powercap (Documentation/power/powercap/powercap.rst): each directory intel-rapl:* whose `name` is
 * a package or its memory ("dram") has energy_uj, microjoules that wrap around above max_energy_range_uj; since kernel
 * 5.10 only root may read them. GPUs: NVML's nvmlDeviceGetTotalEnergyConsumption, millijoules since the driver was
 * loaded (NVML API Reference, "Device Queries"). If neither answers, no energy is reported. */
#ifndef TRAINER_DEVICE_ENERGY_H
#define TRAINER_DEVICE_ENERGY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define ENERGY_POWERCAP "/sys/class/powercap"
#define ENERGY_NVML     "libnvidia-ml.so.1"
#define ENERGY_COUNTERS 64 /* maximum; on a machine with more, nothing is counted */

struct energy {
    uint32_t zones;    /* processor zones that are counted */
    uint32_t packages; /* those of them that are packages; the others are memory */
    struct energy_zone {
        char *path;           /* of energy_uj */
        uint64_t range, last; /* microjoules: the maximum before it wraps, and the last reading */
    } items[ENERGY_COUNTERS];
    double processors; /* joules up to the last reading */
    double polled;     /* clock_now of the last reading */

    uint32_t gpus;
    struct nvml *nvml;
    struct energy_gpu {
        void *device;
        uint64_t first; /* millijoules */
    } cards[ENERGY_COUNTERS];
    double from; /* clock_now of the opening */
    bool lost;   /* a counter has stopped answering */
};

/* Counts from now on. Processors are not counted if any package in the folder `powercap` cannot be read; GPUs are not
 * counted if the library `nvml` is missing or any GPU has no counter. NULL: not wanted. energy_open_here uses the
 * machine's own, or those that DS_POWERCAP and DS_NVML name. */
void energy_open(struct energy *energy, const char *powercap, const char *nvml);
void energy_open_here(struct energy *energy);
void energy_close(struct energy *energy); /* safe on a zeroed one */
/* Reads the processors' counters if the last reading is at least a second old. It must be called often enough not to
 * miss a wrap: at 300 W a counter wraps every 15 minutes. */
void energy_poll(struct energy *energy);
/* Joules since the opening; NAN if no counter answers, or one has stopped answering. */
double energy_joules(struct energy *energy);

/* "2 processors and 1 GPU": what is counted, which must be something. */
char *energy_who(const struct energy *energy, char out[64]);
/* "812 J", or "1.23 kWh (4,428,000 J)". */
char *energy_text(double joules, char out[64]);
/* {"joules": …, "kwh": …, "watts": …, "processors": packages, "gpus": …}, which the caller json_decref's. */
json_t *energy_json(const struct energy *energy, double joules, double watts);

#endif
