/* Which files make a tokenizer is decided by names: every kind has its own (WordPiece vocab.txt, byte-level BPE
 * pieces as JSON and their merges, SentencePiece *.model, fast ones tokenizer.json), and readers add more. */
#include "trainer/verbs/export_files.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/output.h"
#include "trainer/model/config.h"
#include "trainer/keep/checkpoint.h"
#include "base/json.h"

#define TOKENIZER_CONFIG "tokenizer_config.json"
#define AUTHORS_NAME     "README-original.md"
#define AUTHORS_MAX      (4u << 20)
#define JSON_BYTES_MAX   (16u << 20) /* with a hundred thousand added tokens */

static bool has_one(const char *name, const char *const *parts, bool ends)
{
    for (; *parts; parts++)
        if (ends ? str_ends(str_of(name), str_of(*parts)) : str_starts(str_of(name), str_of(*parts)))
            return true;
    return false;
}

/* Whether a name has the form of a tokenizer's file; those of weights, scripts and states of a training do not. */
static bool is_data(const char *name)
{
    static const char *const ends[] = {".txt", ".json", ".model", ".jinja", ".vocab", ".codes", ".tiktoken", NULL};
    static const char *const others[] = {STATE_NAME, RUN_NAME, "trainer_state.json", ".index.json", NULL};
    return name[0] != '.' && !strchr(name, '/') && has_one(name, ends, true) && !has_one(name, others, true);
}

static bool is_usual(const char *name)
{
    static const char *const starts[] = {"tokenizer",    "vocab",         "merges", "special_tokens",
                                         "added_tokens", "chat_template", NULL};
    static const char *const ends[] = {".model", ".jinja", ".vocab", ".codes", ".tiktoken", "-vocab.txt", NULL};
    return is_data(name) && (has_one(name, starts, false) || has_one(name, ends, true));
}

/* LICENSE, COPYING, NOTICE …, in any case and with any end. */
static bool is_licence(const char *name)
{
    static const char *const starts[] = {"LICENSE", "LICENCE", "COPYING", "NOTICE"};
    const size_t size = strcspn(name, ".-_");
    bool found = false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        found |= str_equal_ascii_nocase((struct str){name, size}, str_of(starts[i]));
    return found && !strchr(name, '/');
}

#define PLACED(part) &part,
static const struct export_part *const parts[] = {EXPORT_PARTS(PLACED)};
#define PARTS (sizeof parts / sizeof *parts)

bool export_is_file(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < PARTS; i++)
        found |= parts[i]->owns(name);
    return found;
}

int export_parts(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    for (size_t i = 0; i < PARTS; i++)
        TRY(parts[i]->write(job, to, written, err));
    return 0;
}

/* Reads an object of the directory; NULL: there is none. */
static json_t *read_quietly(const char *directory, const char *name)
{
    struct error ignored = {0};
    json_t *json = NULL;
    SCOPED(mem_free_at) char *path = path_join(directory, name);
    if (path_exists(path))
        json_read_foreign(path, JSON_BYTES_MAX, ERR_INPUT, &json, &ignored);
    return json;
}

static int copy(const char *from, const char *to, struct error *err)
{
    struct mapping file;
    TRY(file_map(&file, from, err));
    const int result = file_write_all(to, file.size > 0 ? (const void *)file.data : "", file.size, err);
    file_unmap(&file);
    return result;
}

static int write_config(const char *from, const char *to, struct error *err)
{
    json_t *json;
    if (str_ends(str_of(from), STR("/" CONFIG_NAME)))
        return copy(from, to, err);
    TRY(json_read_foreign(from, CONFIG_BYTES_MAX, ERR_UNSAFE, &json, err));
    if (!json_object_get(json, "model_type"))
        json_object_set_new(json, "model_type", json_string(layout_bert.model_type));
    const int result = json_file_write(to, json, err);
    json_decref(json);
    return result;
}

static int write_weights(const char *from, const char *to, struct error *err)
{
    struct safetensors file;
    if (str_ends(str_of(from), STR("/" WEIGHTS_NAME)))
        return copy(from, to, err);
    TRY(safetensors_open(&file, from, err));
    const int result = safetensors_write(to, file.tensors, file.count, NULL, err);
    safetensors_close(&file);
    return result;
}

int export_model(const char *from, const char *to, struct error *err)
{
    SCOPED(mem_free_at) char *config = config_locate(from), *weights = safetensors_locate(from, WEIGHTS_NAME);
    SCOPED(mem_free_at) char *config_to = path_join(to, CONFIG_NAME), *weights_to = path_join(to, WEIGHTS_NAME);
    if (!path_exists(config) || !weights)
        return fail_at(err, ERR_USAGE, from, ERROR_NO_OFFSET, "holds no %s", weights ? CONFIG_NAME : WEIGHTS_NAME);
    TRY(write_config(config, config_to, err));
    return write_weights(weights, weights_to, err);
}

/* Whether a name is the value of one of the keys. Paths among the values belong to the machine that wrote them. */
static bool is_named(const json_t *config, const char *name)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)config, key,
                        value) if (json_is_string(value) && strcmp(json_string_value(value), name) == 0) return true;
    return false;
}

static int copy_listed(const char *from, const char *to, const struct path_list *list, const json_t *config,
                       json_t *copied, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->names[i];
        SCOPED(mem_free_at) char *source = path_join(from, name), *target = path_join(to, name);
        if (path_is_file(source) && !path_exists(target) &&
            (is_usual(name) || (is_data(name) && is_named(config, name)))) {
            TRY(copy(source, target, err));
            json_array_append_new(copied, json_name(name));
        }
    }
    return 0;
}

/* Copies the tokenizer's files, of any kind of tokenizer: those with usual names, and those that tokenizer_config.json
 * names. */
static int write_tokenizer(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    struct path_list list;
    TRY(path_list(&list, job->from, err));
    json_t *config = read_quietly(job->from, TOKENIZER_CONFIG);
    const int result = copy_listed(job->from, to, &list, config, written, err);
    json_decref(config);
    path_list_release(&list);
    return result;
}

const struct export_part export_part_tokenizer = {is_data, write_tokenizer};

/* The model's own card, as we or its author named it; the caller mem_free's it. */
static char *authors_card(const char *directory)
{
    char *kept = path_join(directory, AUTHORS_NAME), *card = path_join(directory, "README.md");
    const bool was_kept = path_is_file(kept);
    mem_free(was_kept ? card : kept);
    return was_kept ? kept : card;
}

/* Copies licences, and the author's README.md under another name, because the export has a card of its own; says so. */
static int write_papers(const struct export_job *job, const char *to, json_t *written, struct error *err)
{
    const char *from = job->from;
    SCOPED(path_list_release) struct path_list list = {0};
    SCOPED(buf_release) struct buf said = {0};
    TRY(path_list(&list, from, err));
    for (size_t i = 0; i <= list.count; i++) { /* the licences, then the card */
        const char *name = i < list.count ? list.names[i] : AUTHORS_NAME;
        SCOPED(mem_free_at) char *source = i < list.count ? path_join(from, name) : authors_card(from);
        SCOPED(mem_free_at) char *target = path_join(to, name);
        if (path_is_file(source) && !path_exists(target) && (i == list.count || is_licence(name))) {
            TRY(copy(source, target, err));
            json_array_append_new(written, json_name(name));
            buf_addf(&said, "%s%.60s", said.size > 0 ? ", " : "", name);
        }
    }
    if (said.size > 0)
        log_say("note       kept of the author's files: %s", buf_text(&said));
    return 0;
}

static bool is_paper(const char *name)
{
    return strcmp(name, AUTHORS_NAME) == 0 || is_licence(name);
}

const struct export_part export_part_papers = {is_paper, write_papers};

/* "key: value" with a value that YAML reads as it is. */
static bool is_licence_line(struct str line)
{
    static const char *const keys[] = {"license: ", "license_name: ", "license_link: "};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";
    bool found = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t size = strlen(keys[i]);
        size_t at = size;
        while (str_starts(line, str_of(keys[i])) && at < line.size && strchr(letters, line.data[at]))
            at++;
        found |= at == line.size && at > size && line.data[size] != '-' && line.data[size] != ':' &&
                 line.data[at - 1] != ':';
    }
    return found;
}

void export_licence(const char *directory, struct buf *out)
{
    SCOPED(buf_release) struct buf text = {0};
    struct error ignored = {0};
    SCOPED(mem_free_at) char *path = authors_card(directory);
    if (path_is_file(path) && file_read_all(path, AUTHORS_MAX, &text, &ignored) == 0) {
        const char *at = text.data, *const end = at + text.size;
        for (bool first = true; at < end; first = false) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            const struct str line = str_trim(str_range(at, stop ? stop : end));
            if (str_equal(line, STR("---")) != first) /* the head is between two such lines */
                break;
            if (!memchr(line.data, '\0', line.size) && is_licence_line(line))
                buf_addf(out, "%.*s\n", (int)line.size, line.data);
            at = stop ? stop + 1 : end;
        }
    }
}

/* A token is a string, or an object with its settings. */
static char *mask_in(const char *directory, const char *name)
{
    json_auto_t *json = read_quietly(directory, name);
    const json_t *token = json_object_get(json, "mask_token");
    const char *text = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
    char *mask = text ? mem_copy_text(text) : NULL;
    return mask;
}

char *export_mask_token(const char *directory)
{
    char *mask = mask_in(directory, TOKENIZER_CONFIG), *pieces = path_join(directory, "vocab.json");
    if (!mask)
        mask = mask_in(directory, "special_tokens_map.json");
    if (!mask)
        mask = mem_copy_text(path_exists(pieces) ? "<mask>" : "[MASK]");
    mem_free(pieces);
    return mask;
}
