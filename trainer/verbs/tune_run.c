#include "trainer/verbs/tune_run.h"

#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/output.h"

int tune_run(const struct tune_kind *kind, const char *task, struct settings *all, uint64_t seed, const char *out,
             struct error *err)
{
    struct settings settings = *all;
    struct tuning tuning = kind->tuning;
    tuning.scored = kind->scores(all);
    settings.tuning = &tuning;
    settings.seed = seed;
    settings.out = out;
    settings.json = all->json && !tuning.scored; /* one object for the whole command: the scores */
    tuning.context = kind->make(task, &settings, TUNE_TRAIN);
    const int result = train_run(&settings, err);
    all->mute = settings.mute;
    kind->release(tuning.context);
    return result;
}

int tune_read_scores(const char *out, json_t **scores, struct error *err)
{
    char *path = path_join(out, SCORES_NAME);
    const int result = json_read(path, SCORES_BYTES_MAX, ERR_VERIFY, scores, err);
    mem_free(path);
    return result;
}

int tune_write_scores(const char *out, const json_t *scores, struct error *err)
{
    char *path = path_join(out, SCORES_NAME);
    const int result = json_file_write(path, scores, err);
    mem_free(path);
    return result;
}

void tune_say_next(const char *model, bool is_run)
{
    say_next(command_text("dstrain eval %s --dev FILE", model));
    if (is_run)
        say_next_too(command_text("dstrain report %s", model));
    say_next_too(command_text("dstrain export %s --out DIR", model));
}
