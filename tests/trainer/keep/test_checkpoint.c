/* Checkpoints: equal state gives equal bytes, any damage is found and reported, a crash at any call leaves a complete
 * checkpoint. */
#include "tests/needs_faults.h"
#include "tests/shards/tiny.h"

#include <sys/wait.h>

#include "trainer/keep/checkpoint.h"
#include "base/json.h"

static struct error *const err = &tiny_err;

struct fixture {
    char *run;
    struct model_config config;
    struct params params;
    struct tokenizer_files tokenizer;
    json_t *identity;
    float *weights, *first, *second, *read[3];
    struct checkpoint_parts parts;
    struct checkpoint_state state;
};

static int set_up(void **state)
{
    struct fixture *f = mem_clear(1, sizeof *f);
    f->run = tiny_directory();
    model_config_named("tiny", &f->config);
    f->config.hidden = f->config.intermediate = 8;
    f->config.layers = 1;
    f->config.vocabulary = TINY_PIECES;
    f->config.positions = 16;
    params_init(&f->params, &f->config);
    float **const memory[] = {&f->weights, &f->first, &f->second, &f->read[0], &f->read[1], &f->read[2]};
    for (size_t i = 0; i < 6; i++)
        *memory[i] = mem_clear(f->params.size, sizeof(float));
    params_draw_all(&f->params, 1, f->weights);
    params_draw_all(&f->params, 2, f->first);
    params_draw_all(&f->params, 3, f->second);
    assert_ok(tokenizer_make(&f->tokenizer, "vocab.txt", STR(TINY_VOCAB),
                             &(struct tokenizer_words){.strip_accents = true}, 16, err));
    f->identity = json_pack("{s:s, s:f}", "dataset", "abc", "lr", 0.1);
    f->parts = (struct checkpoint_parts){.config = &f->config,
                                         .params = &f->params,
                                         .weights = f->weights,
                                         .first = f->first,
                                         .second = f->second,
                                         .tokenizer = &f->tokenizer,
                                         .identity = f->identity};
    f->state = (struct checkpoint_state){5, 1, 60, 777, (double)1.2345678f, 3, {2048, 4, 1}, {1, 0.5}};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    SCOPED(mem_free_at) struct fixture *f = *state;
    params_release(&f->params);
    tokenizer_release(&f->tokenizer);
    json_decref(f->identity);
    float *const memory[] = {f->weights, f->first, f->second, f->read[0], f->read[1], f->read[2]};
    for (size_t i = 0; i < 6; i++)
        mem_free(memory[i]);
    tiny_remove(f->run);
    return 0;
}

/* The run's newest checkpoint is valid and has this fixture's state and memory. */
static void expect_whole(const struct fixture *f, uint64_t step)
{
    enum model_source source;
    struct checkpoint_state read;
    json_t *identity;
    char *files;
    assert_ok(checkpoint_locate(f->run, &source, &files, err));
    assert_int_equal(source, SOURCE_RUN);
    assert_ok(checkpoint_verify(files, &read, &identity, err));
    assert_int_equal(read.step, step);
    assert_int_equal(read.updates, f->state.updates);
    assert_int_equal(read.samples, f->state.samples);
    assert_int_equal(read.tokens, f->state.tokens);
    assert_int_equal(read.norm_max_step, 3);
    assert_true(read.scaler.scale == f->state.scaler.scale && read.scaler.overflow == f->state.scaler.overflow &&
                read.scaler.patience == f->state.scaler.patience);
    assert_true((float)read.norm_max == (float)f->state.norm_max);
    assert_true(json_equal(identity, f->identity));
    assert_ok(checkpoint_read(files, &f->params, f->read[0], f->read[1], f->read[2], err));
    assert_memory_equal(f->read[0], f->weights, f->params.size * sizeof(float));
    assert_memory_equal(f->read[1], f->first, f->params.size * sizeof(float));
    assert_memory_equal(f->read[2], f->second, f->params.size * sizeof(float));
    json_decref(identity);
    mem_free(files);
}

TEST_WITH(saved_state_reads_back, set_up, tear_down)
{
    struct fixture *f = *state;
    enum model_source source;
    char *files, *directory = path_join(f->run, "checkpoints/step-00000005");
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    expect_whole(f, 5);
    assert_ok(checkpoint_locate(directory, &source, &files, err));
    assert_int_equal(source, SOURCE_CHECKPOINT);
    assert_string_equal(files, directory);
    mem_free(files);
    /* The same step once more (a crash before `latest`): equal bytes replace it. */
    SCOPED(buf_release) struct buf before = tiny_read(directory, "state.json");
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    SCOPED(buf_release) struct buf after = tiny_read(directory, "state.json");
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    mem_free(directory);
}

static size_t checkpoints(const struct fixture *f)
{
    struct path_list list;
    SCOPED(mem_free_at) char *directory = path_join(f->run, "checkpoints");
    assert_ok(path_list(&list, directory, err));
    const size_t count = list.count;
    path_list_release(&list);
    return count;
}

TEST_WITH(old_ones_go, set_up, tear_down)
{
    struct fixture *f = *state;
    for (f->state.step = 1; f->state.step <= 4; f->state.step++) {
        assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 2, 0, err));
        expect_whole(f, f->state.step);
        assert_int_equal(checkpoints(f), f->state.step < 2 ? 1 : 2);
    }
    for (; f->state.step <= 6; f->state.step++)
        assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 0, 0, err));
    assert_int_equal(checkpoints(f), 4);
    const uint64_t before = file_calls(FILE_CHANGES);
    assert_ok(checkpoint_keep(f->run, 6, 3, 0, err));
    assert_int_equal(checkpoints(f), 3);
    /* A checkpoint is renamed, its seven files are removed, then the folder; two syncs, so that it does not reappear
     * after a power loss. */
    assert_int_equal(file_calls(FILE_CHANGES), before + 1 + 7 + 1 + 2);
}

static bool has(const struct fixture *f, const char *name)
{
    SCOPED(mem_free_at) char *directory = path_join(f->run, CHECKPOINTS_NAME), *path = path_join(directory, name);
    const bool there = path_is_directory(path);
    return there;
}

TEST_WITH(every_nth_stays, set_up, tear_down)
{
    struct fixture *f = *state;
    for (f->state.step = 1; f->state.step <= 6; f->state.step++)
        assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 1, 3, err));
    assert_int_equal(checkpoints(f), 2);
    assert_true(has(f, "step-00000003") && has(f, "step-00000006"));
    assert_ok(checkpoint_keep(f->run, 4, 1, 0, err)); /* a checkpoint later than this step does not count as one of the
                                                       * last */
    assert_true(has(f, "step-00000003") && has(f, "step-00000006"));
    assert_ok(checkpoint_keep(f->run, 6, 1, 0, err));
    assert_int_equal(checkpoints(f), 1);

    tiny_write(f->run, BEST_NAME, "step-00000003\n", 14); /* a checkpoint that was removed */
    assert_int_equal(checkpoint_best(f->run), 0);
    tiny_write(f->run, BEST_NAME, "step-00000006\n", 14);
    assert_int_equal(checkpoint_best(f->run), 6);
}

TEST_WITH(files_of_the_user_stay, set_up, tear_down)
{
    struct fixture *f = *state;
    SCOPED(mem_free_at) char *directory = checkpoint_path(f->run, 1);
    for (f->state.step = 1; f->state.step <= 3; f->state.step++) {
        assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 1, 0, err));
        if (f->state.step == 1)
            tiny_write(directory, "notes.txt", "mine\n", 5);
    }
    assert_int_equal(checkpoints(f), 2);
    char *foreign, *notes = path_join(directory, "notes.txt");
    assert_ok(checkpoint_foreign(directory, &foreign, err));
    assert_string_equal(foreign, "notes.txt");
    mem_free(foreign);

    tiny_write(directory, STATE_NAME, "{", 1); /* damaged: it does not say which files are the run's */
    assert_ok(checkpoint_keep(f->run, 3, 1, 0, err));
    assert_true(path_exists(notes));
    assert_ok(path_remove(notes, err));
    assert_ok(checkpoint_keep(f->run, 3, 1, 0, err));
    assert_int_equal(checkpoints(f), 1);
    mem_free(notes);
}

TEST_WITH(without_latest_the_newest_counts, set_up, tear_down)
{
    struct fixture *f = *state;
    for (f->state.step = 1; f->state.step <= 2; f->state.step++)
        assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    f->state.step = 2;
    SCOPED(mem_free_at) char *latest = path_join(f->run, LATEST_NAME);
    assert_ok(path_remove(latest, err));
    expect_whole(f, 2);
}

TEST_WITH(any_damage_is_found_and_named, set_up, tear_down)
{
    static const char *const names[] = {"config.json", "model.safetensors", "optimizer.safetensors",
                                        "vocab.txt",   "tokenizer.json",    "tokenizer_config.json",
                                        "state.json"};
    struct fixture *f = *state;
    struct checkpoint_state read;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    SCOPED(mem_free_at) char *directory = path_join(f->run, "checkpoints/step-00000005");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SCOPED(buf_release) struct buf bytes = tiny_read(directory, names[i]);
        const size_t stride = bytes.size > 2000 ? bytes.size / 97 : 1;
        for (size_t at = 0; at < bytes.size; at += stride) {
            const char was = bytes.data[at];
            if (i == 6 && (was == ' ' || was == '\n'))
                continue; /* blanks between keys have no meaning */
            bytes.data[at] ^= 1;
            tiny_write(directory, names[i], bytes.data, bytes.size);
            tiny_err = (struct error){0};
            if (checkpoint_verify(directory, &read, NULL, err) == 0)
                fail_msg("%s: a flipped bit at %zu was not found", names[i], at);
            assert_true(tiny_err.kind == ERR_VERIFY || (i == 6 && tiny_err.kind == ERR_MISMATCH));
            assert_non_null(strstr(tiny_err.file, i == 6 ? "step-00000005" : names[i]));
            bytes.data[at] = was;
        }
        tiny_write(directory, names[i], bytes.data, bytes.size / 2);
        assert_fails(checkpoint_verify(directory, &read, NULL, err), ERR_VERIFY);
        SCOPED(mem_free_at) char *path = path_join(directory, names[i]);
        assert_ok(path_remove(path, err));
        assert_fails(checkpoint_verify(directory, &read, NULL, err), ERR_VERIFY);
        assert_non_null(strstr(tiny_err.file, names[i]));
        tiny_write(directory, names[i], bytes.data, bytes.size);
    }
    expect_whole(f, 5);
}

static int go_on(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    return 0;
}

TEST_WITH(a_survey_names_all_damage, set_up, tear_down)
{
    struct fixture *f = *state;
    struct verify_report report = {0};
    const struct verify_progress progress = {go_on, NULL};
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    SCOPED(mem_free_at)
    char *directory = path_join(f->run, "checkpoints/step-00000005"), *config = path_join(directory, "config.json");
    assert_ok(checkpoint_survey(directory, "", progress, &report, err));
    assert_int_equal(report.count, 0);
    assert_int_equal(report.files, 7);
    verify_release(&report);

    assert_ok(path_remove(config, err));
    tiny_write(directory, "vocab.txt", "x", 1);
    assert_ok(checkpoint_survey(directory, "below/", progress, &report, err));
    assert_int_equal(report.count, 2);
    assert_string_equal(report.damaged[0].file, "below/config.json");
    assert_string_equal(report.damaged[1].file, "below/vocab.txt");
    assert_int_equal(report.damaged[1].to, 1);
    verify_release(&report);
}

/* A newer program may have written keys that this one would misread: a mismatch, not damage. */
TEST(a_newer_state_is_a_mismatch)
{
    struct checkpoint_state taken;
    json_t *json = json_pack("{s:i, s:I}", "state_version", 2, "step", (json_int_t)3);
    assert_int_equal(state_take("state.json", json, &taken, err), -1);
    assert_int_equal(err->kind, ERR_MISMATCH);
    json_object_set_new(json, "state_version", json_integer(0));
    assert_int_equal(state_take("state.json", json, &taken, err), -1);
    assert_int_equal(err->kind, ERR_VERIFY);
    json_decref(json);
}

/* A state.json with one key changed and the matching hash, so that the hash does not reveal the change. */
static void check_changed(const struct fixture *f, const char *key, json_t *value, bool taken)
{
    struct checkpoint_state read;
    SCOPED(buf_release) struct buf text = {0};
    char hash[17];
    json_t *hashes = json_object(), *json = state_json(&f->state, hashes, f->identity);
    json_object_set_new(json, key, value);
    json_object_del(json, "hash");
    json_add_text(json, JSON_COMPACT, &text);
    json_object_set_new(json, "hash", json_string(hash_text(hash64(text.data, text.size), hash)));
    if (taken)
        assert_ok(state_take(STATE_NAME, json, &read, err));
    else {
        assert_fails(state_take(STATE_NAME, json, &read, err), ERR_VERIFY);
        assert_non_null(strstr(tiny_err.text, strcmp(key, "updates") == 0 ? "contradicts itself"
                                                                          : "a key is missing or of another kind"));
    }
    json_decref(json);
    json_decref(hashes);
}

TEST_WITH(values_of_another_kind_are_refused_with_any_hash, set_up, tear_down)
{
    const struct fixture *f = *state;
    check_changed(f, "state_version", json_integer(1), true);
    check_changed(f, "state_version", json_integer(0), false);
    check_changed(f, "state_version", json_string("1"), false);
    check_changed(f, "scaler", json_pack("{s:f, s:i, s:i}", "loss_scale", 2.0, "overflow", -1, "patience", 1), true);
    check_changed(f, "scaler", json_pack("{s:f, s:i, s:i}", "loss_scale", 0.0, "overflow", -1, "patience", 1), false);
    check_changed(f, "scaler", json_pack("{s:f, s:i, s:i}", "loss_scale", -2.0, "overflow", -1, "patience", 1), false);
    check_changed(f, "scaler", json_pack("{s:s, s:i, s:i}", "loss_scale", "2", "overflow", -1, "patience", 1), false);
    check_changed(f, "scaler", json_pack("{s:f, s:i, s:i}", "loss_scale", 2.0, "overflow", -2, "patience", 1), false);
}

TEST_WITH(more_updates_than_steps_are_refused_with_any_hash, set_up, tear_down)
{
    const struct fixture *f = *state;
    check_changed(f, "updates", json_integer(5), true);
    check_changed(f, "updates", json_integer(6), false);
    check_changed(f, "updates", json_integer(0), false); /* fewer than when second moments were frozen */
}

/* Writes a state.json with a valid hash, as an attacker would to have other files opened or odd names shown. */
TEST_WITH(names_in_a_checkpoint_are_plain, set_up, tear_down)
{
    static const char *const names[] = {"../config.json", "/etc/passwd", "a\nb", "\x1b[2J"};
    struct fixture *f = *state;
    struct checkpoint_state read;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    SCOPED(mem_free_at)
    char *directory = path_join(f->run, "checkpoints/step-00000005"), *path = path_join(directory, STATE_NAME);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_auto_t *hashes = json_pack("{s:s, s:s, s:s}", WEIGHTS_NAME, "0", MOMENTS_NAME, "0", names[i], "0");
        json_auto_t *json = state_json(&f->state, hashes, f->identity);
        assert_int_equal(json_dump_file(json, path, 0), 0);
        tiny_err = (struct error){0};
        assert_fails(checkpoint_verify(directory, &read, NULL, err), ERR_VERIFY);
        assert_non_null(strstr(tiny_err.text, "does not name the files"));
    }
}

TEST_WITH(latest_names_a_step_and_nothing_else, set_up, tear_down)
{
    static const char *const texts[] = {
        "", "\n", "step-", "../../etc", "step-1/..", "step-12x", "checkpoints/step-00000005"};
    struct fixture *f = *state;
    enum model_source source;
    char *files;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tiny_write(f->run, "latest", texts[i], strlen(texts[i]));
        assert_fails(checkpoint_locate(f->run, &source, &files, err), ERR_VERIFY);
    }
    assert_fails(checkpoint_locate("no/such/run", &source, &files, err), ERR_USAGE);
}

/* The second save is killed before its n-th call, for every n: the first or the second checkpoint is complete, and the
 * next save works. */
TEST_WITH(a_crash_anywhere_leaves_a_whole_one, set_up, tear_down)
{
    struct fixture *f = *state;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 1, 0, err));
    int died = 1;
    uint64_t n = 0;
    while (died) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            f->state.step = 9;
            file_fault_set((struct file_fault){.at = ++n, .kind = FILE_FAULT_KILL});
            _exit(checkpoint_write(f->run, &f->parts, &f->state, 1, 0, err) < 0 ? 1 : 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 137 || WEXITSTATUS(status) == 0));
        died = WEXITSTATUS(status) != 0;
        n++;
        SCOPED(buf_release) struct buf latest = tiny_read(f->run, "latest");
        const uint64_t step = strtoull(latest.data + 5, NULL, 10);
        assert_true(step == 5 || step == 9);
        expect_whole(f, step);
        if (step == 9) { /* back to the start */
            f->state.step = 5;
            assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 0, 0, err));
        }
    }
    assert_true(n > 25);
    f->state.step = 9;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 1, 0, err));
    expect_whole(f, 9);
    assert_int_equal(checkpoints(f), 1); /* and no other files */
}

/* The same for calls that fail: there is an error, and no partial checkpoint remains. */
TEST_WITH(a_full_disk_leaves_a_whole_one, set_up, tear_down)
{
    struct fixture *f = *state;
    assert_ok(checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err));
    int result = -1;
    f->state.step = 6;
    for (uint64_t n = 1; result < 0; n++) {
        file_fault_set((struct file_fault){.at = n, .kind = n % 2 ? FILE_FAULT_SHORT : FILE_FAULT_ERRNO, .number = 28});
        result = checkpoint_write(f->run, &f->parts, &f->state, 3, 0, err);
        file_fault_set((struct file_fault){0});
        if (result == 0)
            break;
        SCOPED(buf_release) struct buf latest = tiny_read(f->run, "latest");
        expect_whole(f, strtoull(latest.data + 5, NULL, 10));
        assert_true(checkpoints(f) <= 3);
    }
    expect_whole(f, 6);
    assert_int_equal(checkpoints(f), 2);
}

TEST_WITH(the_tokenizer_needs_its_specials, set_up, tear_down)
{
    struct fixture *f = *state;
    struct tokenizer_files files;
    assert_non_null(strstr(buf_text(&f->tokenizer.tokenizer), "\"river\": 9"));
    assert_non_null(strstr(buf_text(&f->tokenizer.config), "\"do_lower_case\": true"));
    assert_non_null(strstr(buf_text(&f->tokenizer.config), "\"tokenize_chinese_chars\": true"));
    assert_fails(tokenizer_make(&files, "v", STR("[PAD]\n[UNK]\n[CLS]\n[SEP]\nx\n"),
                                &(struct tokenizer_words){.cased = true}, 16, err),
                 ERR_INPUT);
    assert_non_null(strstr(tiny_err.text, "[MASK]"));
    tokenizer_release(&files);
    assert_fails(
        tokenizer_make(&files, "v", STR("[PAD]\n\xff\n[CLS]\n"), &(struct tokenizer_words){.cased = true}, 16, err),
        ERR_INPUT);
    tokenizer_release(&files);
    assert_fails(tokenizer_make(&files, "v", STR(""), &(struct tokenizer_words){.cased = true}, 16, err), ERR_INPUT);
    tokenizer_release(&files);
    assert_ok(tokenizer_make(&files, "v", STR("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\n\"\\\r\n"),
                             &(struct tokenizer_words){.cased = true, .joined = true}, 16, err));
    assert_non_null(strstr(buf_text(&files.tokenizer), "\"handle_chinese_chars\": false"));
    assert_non_null(strstr(buf_text(&files.config), "\"tokenize_chinese_chars\": false"));
    assert_non_null(strstr(buf_text(&files.tokenizer), "\"\\\"\\\\\": 5"));
    tokenizer_release(&files);
}
