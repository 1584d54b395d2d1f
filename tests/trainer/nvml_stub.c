/* A stub of libnvidia-ml.so.1: DS_STUB_GPUS devices, each of which reports 1.5 J more at every call.
 * DS_STUB_FAILS=init|count|device|energy: that call fails; back: the counter decreases. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *devices);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static unsigned long long used[64];
static int open_count;

static bool fails(const char *what)
{
    const char *asked = getenv("DS_STUB_FAILS");
    return asked && strcmp(asked, what) == 0;
}

int nvmlInit_v2(void)
{
    open_count++;
    return fails("init");
}

int nvmlShutdown(void)
{
    if (--open_count < 0)
        abort();
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *devices)
{
    const char *asked = getenv("DS_STUB_GPUS");
    *devices = asked ? (unsigned)atoi(asked) : 0;
    return fails("count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    used[index] = 1000000 * (index + 1);
    *device = &used[index];
    return fails("device");
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    unsigned long long *counter = device;
    *counter += 1500;
    *millijoules = fails("back") ? 0 : *counter;
    return fails("energy");
}
