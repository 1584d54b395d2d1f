/* In: counters of processors and GPUs. Out: joules. */
#include "trainer/device/energy.h"

#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"

#define POLL_SECONDS 1.0
#define KWH_JOULES   3.6e6
#define KWH_FROM     0.01          /* kWh; less is shown in joules only */
#define ZONE_PREFIX  "intel-rapl:" /* also on AMD's processors */
#define NAME_BYTES   64
#define NVML_SUCCESS 0

/* ---- processors ---- */

/* Does not use base/file: how often it is called depends on time, which would disturb that module's count of calls, and
 * a failure here must not fail the run. */
static bool read_line(const char *path, char out[NAME_BYTES])
{
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(out, NAME_BYTES, file);
    if (file)
        fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read;
}

static bool read_number(const char *path, uint64_t *value)
{
    char text[NAME_BYTES];
    if (!read_line(path, text) || text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    *value = strtoull(text, NULL, 10);
    return true;
}

static void drop_zones(struct energy *energy)
{
    for (uint32_t z = 0; z < energy->zones; z++)
        mem_free(energy->items[z].path);
    energy->zones = energy->packages = 0;
}

static char *path_in(const char *folder, const char *zone, const char *file)
{
    char *directory = path_join(folder, zone), *path = path_join(directory, file);
    mem_free(directory);
    return path;
}

/* Adds a zone if it is one that is counted. False: it is, but it cannot be read. */
static bool add_zone(struct energy *energy, const char *folder, const char *directory)
{
    char name[NAME_BYTES];
    char *name_path = path_in(folder, directory, "name"), *range = path_in(folder, directory, "max_energy_range_uj");
    char *counter = path_in(folder, directory, "energy_uj");
    const bool named = read_line(name_path, name);
    const bool package = named && strncmp(name, "package-", strlen("package-")) == 0;
    bool good = true;
    if (package || (named && strcmp(name, "dram") == 0)) { /* a package includes core and uncore, psys includes it */
        struct energy_zone zone = {0};
        good = energy->zones < ENERGY_COUNTERS && read_number(range, &zone.range) && zone.range > 0 &&
               read_number(counter, &zone.last) && zone.last <= zone.range;
        if (good) {
            zone.path = mem_copy_text(counter);
            energy->items[energy->zones++] = zone;
            energy->packages += package;
        }
    }
    mem_free(name_path);
    mem_free(range);
    mem_free(counter);
    return good;
}

static void open_zones(struct energy *energy, const char *folder)
{
    struct error ignored = {0};
    struct path_list list = {0};
    bool good = path_is_directory(folder) && path_list(&list, folder, &ignored) == 0;
    for (size_t i = 0; i < list.count && good; i++)
        if (strncmp(list.names[i], ZONE_PREFIX, strlen(ZONE_PREFIX)) == 0)
            good = add_zone(energy, folder, list.names[i]);
    path_list_release(&list);
    if (!good || energy->packages == 0)
        drop_zones(energy);
}

static void read_zones(struct energy *energy)
{
    energy->polled = clock_now();
    for (uint32_t z = 0; z < energy->zones; z++) {
        struct energy_zone *zone = &energy->items[z];
        uint64_t now;
        if (!read_number(zone->path, &now) || now > zone->range) {
            energy->lost = true;
            return;
        }
        const uint64_t used = now >= zone->last ? now - zone->last : zone->range - zone->last + now;
        assert(used <= zone->range);
        energy->processors += 1e-6 * (double)used;
        zone->last = now;
    }
}

void energy_poll(struct energy *energy)
{
    if (energy->zones > 0 && clock_now() - energy->polled >= POLL_SECONDS)
        read_zones(energy);
}

/* ---- GPUs ---- */

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *devices);
    int (*device)(unsigned index, void **device);
    int (*energy)(void *device, unsigned long long *millijoules);
    void *library;
};

static void close_gpus(struct energy *energy)
{
    struct nvml *nvml = energy->nvml;
    if (!nvml)
        return;
    nvml->shutdown();
    dlclose(nvml->library);
    mem_free(nvml);
    energy->nvml = NULL;
    energy->gpus = 0;
}

#ifdef DS_STATIC

static void open_gpus(struct energy *energy, const char *library)
{
    (void)energy;
    (void)library;
}

#else

static bool find_all(struct nvml *nvml)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"nvmlInit_v2", &nvml->init},
        {"nvmlShutdown", &nvml->shutdown},
        {"nvmlDeviceGetCount_v2", &nvml->count},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml->device},
        {"nvmlDeviceGetTotalEnergyConsumption", &nvml->energy},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(nvml->library, wanted[i].name);
        if (!found)
            return false;
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return true;
}

/* False unless all GPUs have the counter; those before Volta do not. */
static bool count_gpus(struct energy *energy)
{
    const struct nvml *nvml = energy->nvml;
    unsigned devices = 0;
    if (nvml->count(&devices) != NVML_SUCCESS || devices == 0 || devices > ENERGY_COUNTERS)
        return false;
    for (unsigned d = 0; d < devices; d++) {
        struct energy_gpu *gpu = &energy->cards[d];
        unsigned long long first;
        if (nvml->device(d, &gpu->device) != NVML_SUCCESS || nvml->energy(gpu->device, &first) != NVML_SUCCESS)
            return false;
        gpu->first = first;
    }
    energy->gpus = devices;
    return true;
}

static void open_gpus(struct energy *energy, const char *library)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return;
    struct nvml *nvml = mem_clear(1, sizeof *nvml);
    nvml->library = loaded;
    if (!find_all(nvml) || nvml->init() != NVML_SUCCESS) {
        dlclose(loaded);
        mem_free(nvml);
        return;
    }
    energy->nvml = nvml;
    if (!count_gpus(energy))
        close_gpus(energy);
}

#endif

/* Joules of all GPUs since the opening; negative: one no longer answers. */
static double read_gpus(const struct energy *energy)
{
    double joules = 0;
    for (uint32_t d = 0; d < energy->gpus; d++) {
        unsigned long long now;
        const struct energy_gpu *gpu = &energy->cards[d];
        if (energy->nvml->energy(gpu->device, &now) != NVML_SUCCESS || now < gpu->first)
            return -1;
        joules += 1e-3 * (double)(now - gpu->first);
    }
    return joules;
}

/* ---- both ---- */

void energy_open(struct energy *energy, const char *powercap, const char *nvml)
{
    *energy = (struct energy){.from = clock_now(), .polled = clock_now()};
    if (powercap)
        open_zones(energy, powercap);
    if (nvml)
        open_gpus(energy, nvml);
}

void energy_open_here(struct energy *energy)
{
    const char *powercap = getenv("DS_POWERCAP"), *nvml = getenv("DS_NVML");
    energy_open(energy, powercap ? powercap : ENERGY_POWERCAP, nvml ? nvml : ENERGY_NVML);
}

void energy_close(struct energy *energy)
{
    drop_zones(energy);
    close_gpus(energy);
}

double energy_joules(struct energy *energy)
{
    read_zones(energy);
    const double gpus = read_gpus(energy);
    energy->lost |= gpus < 0;
    if (energy->lost || energy->zones + energy->gpus == 0)
        return (double)NAN;
    return energy->processors + gpus;
}

/* ---- texts ---- */

char *energy_who(const struct energy *energy, char out[64])
{
    char processors[24] = "", gpus[24] = "";
    if (energy->packages > 0)
        snprintf(processors, sizeof processors, "%" PRIu32 " processor%s", energy->packages,
                 energy->packages == 1 ? "" : "s");
    if (energy->gpus > 0)
        snprintf(gpus, sizeof gpus, "%" PRIu32 " GPU%s", energy->gpus, energy->gpus == 1 ? "" : "s");
    snprintf(out, 64, "%s%s%s", processors, processors[0] && gpus[0] ? " and " : "", gpus);
    return out;
}

char *energy_text(double joules, char out[64])
{
    char count[32];
    format_count((uint64_t)llround(joules), count);
    if (joules < KWH_FROM * KWH_JOULES)
        snprintf(out, 64, "%s J", count);
    else
        snprintf(out, 64, "%.3g kWh (%s J)", joules / KWH_JOULES, count);
    return out;
}

json_t *energy_json(const struct energy *energy, double joules, double watts)
{
    return json_pack("{s:f, s:f, s:f, s:i, s:i}", "joules", joules, "kwh", joules / KWH_JOULES, "watts", watts,
                     "processors", (int)energy->packages, "gpus", (int)energy->gpus);
}
