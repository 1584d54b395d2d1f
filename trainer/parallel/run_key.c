#include "trainer/parallel/run_key.h"

#include "base/log.h"
#include "trainer/comm/listen.h"

#include <stdlib.h>

#define VARIABLE "DS_KEY"
#define MAKE     "export " VARIABLE "=$(openssl rand -hex 32)"

bool run_key_is_none(const struct settings *settings)
{
    return settings->key && strcmp(settings->key, "none") == 0;
}

/* Programs that we start, and reports of crashes, do not get the key. /proc/PID/environ shows the memory that held the
 * environment at the start, so unsetenv does not suffice. */
static int take_variable(struct job_key *key, bool wanted, struct error *err)
{
    char *text = getenv(VARIABLE);
    struct error why;
    int result = 0;
    if (text && wanted && job_key_parse(str_of(text), key, &why) < 0) {
        fail(err, ERR_USAGE, VARIABLE ": %.200s", why.text);
        result = hint(err, "make one key, once, and give it to all processes: " MAKE);
    }
    if (text)
        explicit_bzero(text, strlen(text));
    unsetenv(VARIABLE);
    return result;
}

/* Whether the run needs a key. It does not where only processes of this machine meet, nor with a FILE or MPI, which
 * have one. */
static int is_open(const struct settings *settings, const struct launch *launch, bool *open, struct error *err)
{
    struct endpoint endpoint;
    *open = false;
    if (!launch->rendezvous[0])
        return 0;
    TRY(endpoint_parse(&endpoint, launch->rendezvous, err));
    *open = !endpoint.path && !listen_is_local(&endpoint, settings->bind);
    return 0;
}

int run_key_find(const struct settings *settings, struct launch *launch, struct error *err)
{
    const bool several = launch->size > 1 && launch->kind != LAUNCH_CHILD;
    bool open;
    TRY(take_variable(&launch->key, several && !settings->key, err));
    if (!several)
        return 0;
    if (settings->key && !run_key_is_none(settings))
        return job_key_read(settings->key, &launch->key, err);
    TRY(is_open(settings, launch, &open, err));
    if (open && settings->key && launch->rank == 0)
        log_warn("--key none: whoever reaches %s may join the run and change its weights", launch->rendezvous);
    if (settings->key)
        return 0;
    if (!open || launch->key.given)
        return 0;
    fail(err, ERR_USAGE, "whoever reaches %.200s could join the run: it needs a key", launch->rendezvous);
    return hint(err, "make one key, once, and give it to all processes: " MAKE
                     ", or --key FILE; --key none lets anyone join");
}
