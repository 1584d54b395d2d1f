#include "pipeline/build/summary.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/output.h"
#include "pipeline/build/advice.h"
#include "pipeline/build/facts.h"
#include "pipeline/build/repeats.h"
#include "pipeline/parts/account.h"
#include "pipeline/store/seal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#define LICENCE "CC BY-SA (https://foundation.wikimedia.org/wiki/Policy:Terms_of_Use)"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Finds a date of this century in a name, as dumps have it: 20261101 or 2026-11-01, without adjacent digits. */
static bool find_date(const char *name, char out[11])
{
    for (const char *at = name; *at; at++) {
        unsigned year, month, day;
        int size = 0;
        if (!is_digit(*at) || (at > name && is_digit(at[-1])))
            continue;
        if ((sscanf(at, "%4u-%2u-%2u%n", &year, &month, &day, &size) != 3 || size != 10) &&
            (sscanf(at, "%4u%2u%2u%n", &year, &month, &day, &size) != 3 || size != 8))
            continue;
        if (is_digit(at[size]) || year < 2000 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31)
            continue;
        snprintf(out, 11, "%04u-%02u-%02u", year % 10000, month % 100, day % 100);
        return true;
    }
    return false;
}

/* True for a Wikimedia wiki, whose text is under CC BY-SA. */
static bool is_share_alike(struct str base)
{
    static const char *const sites[] = {".wikipedia.org/",  ".wiktionary.org/",  ".wikibooks.org/", ".wikiquote.org/",
                                        ".wikisource.org/", ".wikiversity.org/", ".wikivoyage.org/"};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (str_find(base, str_of(sites[i])) != SIZE_MAX)
            return true;
    return false;
}

static json_t *text_json(struct str text)
{
    return text.size > 0 ? json_stringn(text.data, text.size) : NULL;
}

/* {"name", "wiki"} and, if known, "lang" (`language`: typed, stated or guessed; "": not known), "site", "base" (from
 * siteinfo), "date" (in the file's name, YYYY-MM-DD), "licence" (of Wikimedia's wikis, recognised by their address).
 * The caller owns the reference. */
static json_t *provenance_json(const char *path, const struct siteinfo *siteinfo, const char *language)
{
    char date[11];
    const char *slash = strrchr(path, '/');
    const struct str wiki = siteinfo->dbname.data ? siteinfo->dbname : STR("");
    const bool dated = siteinfo->base.size > 0 && find_date(slash ? slash + 1 : path, date);
    return json_pack("{so ss% so* so* so* ss* ss*}", "name", json_name(path), "wiki", wiki.data, wiki.size, "lang",
                     text_json(str_of(language)), "site", text_json(siteinfo->sitename), "base",
                     text_json(siteinfo->base), "date", dated ? date : NULL, "licence",
                     is_share_alike(siteinfo->base) ? LICENCE : NULL);
}

#define LANGUAGES_NAMED 5 /* on the closing screen */

/* Percent of one number in another, 0 where there is none. */
static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void summary_plan(const char *directory, const struct dsdata_settings *settings, const struct inputs *inputs,
                  const struct dataset_recipe *recipe, const struct resource_plan *plan)
{
    char needed[32], threads[56], vocabulary[64], lengths[128] = "";
    inputs_say(inputs, directory);
    for (size_t i = 0; i < recipe->length_count; i++)
        snprintf(lengths + strlen(lengths), sizeof lengths - strlen(lengths), "%s%u", i ? ", " : "", recipe->seq[i]);
    if (recipe->learned)
        snprintf(vocabulary, sizeof vocabulary, "learn %s",
                 recipe->vocab_size ? format_count(recipe->vocab_size, needed) : "as many pieces as fit the text");
    else
        snprintf(vocabulary, sizeof vocabulary, "given");
    log_say("%s, accents %s · vocabulary: %s · lengths %s · %s · needs about %s while building",
            recipe->cased ? "cased" : "uncased", recipe->strip_accents ? "stripped" : "kept", vocabulary, lengths,
            format_counted(plan->threads, "thread", threads), format_bytes(plan->disk_bytes, needed));
    if (plan->old_bytes > 0)
        log_say("%s of that is the old dataset, which stays until the new one is complete",
                format_bytes(plan->old_bytes, needed));
    if (plan->spool_bytes > 0)
        log_say("%s of that is standard input", format_bytes(plan->spool_bytes, needed));
    inputs_warn(settings, inputs);
    advice_before(settings, inputs, recipe);
    if (settings->threads > plan->threads)
        log_warn("--memory has room for %zu of %llu threads", plan->threads, (unsigned long long)settings->threads);
}

int summary_dry_run(const struct dsdata_settings *settings, const struct resource_plan *plan,
                    const struct dataset_recipe *recipe)
{
    /* 20 MB/s of XML per thread is about what a core decodes and tokenizes. */
    const double seconds = (double)plan->xml_bytes / 20e6 / (double)plan->threads;
    char bytes[32], time[32], threads[56];
    if (settings->json) {
        json_t *lengths = json_array();
        for (size_t i = 0; i < recipe->length_count; i++)
            json_array_append_new(lengths, json_pack("{sI sI}", "seq", (json_int_t)recipe->seq[i], "samples",
                                                     (json_int_t)plan->samples[i]));
        json_t *object = json_pack("{sI sI sI sI sI so sf}", "xml_bytes", (json_int_t)plan->xml_bytes, "dataset_bytes",
                                   (json_int_t)plan->dataset_bytes, "disk_bytes", (json_int_t)plan->disk_bytes,
                                   "memory_bytes", (json_int_t)plan->memory, "threads", (json_int_t)plan->threads,
                                   "lengths", lengths, "seconds", seconds);
        output_json(object, JSON_INDENT(1));
        return 0;
    }
    log_say("plan       about %s of text with its markup; nothing is written (--dry-run)",
            format_bytes(plan->xml_bytes, bytes));
    for (size_t i = 0; i < recipe->length_count; i++) {
        char samples[32];
        log_say("seq%-7u about %s sample%s", recipe->seq[i], format_short(plan->samples[i], samples),
                plan->samples[i] == 1 ? "" : "s");
    }
    if (repeats_wanted(recipe))
        log_say("repeats    are not looked for (--dry-run): the build gives fewer samples if there are any");
    log_say("disk       dataset about %s, memory up to %llu MiB", format_bytes(plan->dataset_bytes, bytes),
            (unsigned long long)(plan->memory >> 20));
    log_say("time       about %s on %s", format_seconds(seconds, time),
            format_counted(plan->threads, "thread", threads));
    return 0;
}

/* CPU time of sealing (reading, sorting and writing what was spilled) relative to that of spilling, measured. */
#define SEAL_OVER_COLLECT 1.2

double summary_seal_seconds(const struct build_facts *facts, const struct resource_plan *plan, double share)
{
    const double spilling = belt_seconds(&facts->loads[BUILD_STEPS - 1]);
    const size_t threads = plan->threads < SEAL_LOADS_MAX ? plan->threads : SEAL_LOADS_MAX;
    return share > 0 && spilling > 0 ? SEAL_OVER_COLLECT * spilling / share / (double)threads : -1.0;
}

/* "decode 61 % digest 33 % collect 2 %": of the time of all threads; the rest is waiting. */
static void add_loads(const struct build_facts *facts, const struct resource_plan *plan, double seconds,
                      struct buf *out)
{
    for (int i = 0; i < BUILD_STEPS; i++) {
        const double share = belt_seconds(&facts->loads[i]) / seconds / (double)plan->threads;
        if (share >= 0.005)
            buf_addf(out, "%s%s %.0f %%", out->size ? " " : "", facts->loads[i].name, 100 * share);
    }
}

/* The number of stages of this start before reading. */
static unsigned stages_before(const struct build_facts *facts)
{
    return (unsigned)(facts->vocabulary.windows > 0) + facts->again;
}

void summary_progress(struct progress *progress, uint64_t done, uint64_t total, const struct counts *counts,
                      const struct build_facts *facts, const struct resource_plan *plan, double seconds)
{
    char read[32], of[32], pieces[32];
    SCOPED(buf_release) struct buf loads = {0}, made = {0};
    add_loads(facts, plan, seconds, &loads);
    const double share = total ? (double)done / (double)total : -1.0, now = share - progress->first_share;
    if (facts->notes)
        progress->after = now > 0 ? seconds / now : 0; /* reading again takes about as long */
    else if (facts->seals)
        progress->after = fmax(0, summary_seal_seconds(facts, plan, now));
    if (!facts->notes)
        buf_addf(&made, " │ %.1fk %s/s │ %s pieces",
                 (double)(counts_pages(counts) - facts->pages_before) / 1e3 / seconds,
                 facts->of_pages ? "pages" : "documents", format_short(counts->pieces, pieces));
    progress_show(progress, share, "%u/%u read  %5.1f %% │ %s of %s │ %.0f MB/s%s │ mem %.2f GB │ %s",
                  stages_before(facts) + 1, stages_before(facts) + 1 + facts->notes + facts->seals,
                  percent(done, total), format_bytes(done, read), total ? format_bytes(total, of) : "a pipe",
                  (double)(counts->input_bytes - facts->bytes_before) / 1e6 / seconds, buf_text(&made),
                  (double)mem_peak_bytes() / 1e9, buf_text(&loads));
}

void summary_sealing(struct progress *progress, const struct build_facts *facts, uint64_t samples)
{
    char done[32], all[32];
    const unsigned stages = stages_before(facts) + 2;
    progress_show(progress, (double)facts->sealed / (double)samples, "%u/%u seal  %5.1f %% │ %s of %s samples", stages,
                  stages, percent(facts->sealed, samples), format_short(facts->sealed, done),
                  format_short(samples, all));
}

static char *next_command(const char *directory)
{
    return command_text("dstrain plan --shards %s", directory);
}

static void say_templates(const struct counts *counts)
{
    char characters[32];
    if (counts->templates > 0)
        log_say("templates  %s characters of templates without a rendering (dsdata report lists them)",
                format_short(counts->template_characters, characters));
}

/* "holes      21 per MB of wiki text (de 20, fi 212); worst: {{TA}} 61; kept as sentences 2: {{X}} 2" */
static void say_holes(const struct manifest *manifest, const struct missing *missing)
{
    SCOPED(buf_release) struct buf line = {0};
    char count[32];
    const struct manifest_language all = manifest_holes(manifest);
    if (all.bytes == 0)
        return;
    buf_addf(&line, "%.0f per MB of wiki text", manifest_holes_per_mb(&all));
    for (size_t i = 0; manifest->language_count > 1 && i < manifest->language_count && i < LANGUAGES_NAMED; i++) {
        const struct manifest_language *language = &manifest->languages[i];
        buf_addf(&line, "%s%s %.0f", i ? ", " : " (", language->name[0] ? language->name : UNDETERMINED,
                 manifest_holes_per_mb(language));
    }
    buf_add_text(&line, manifest->language_count > LANGUAGES_NAMED ? " …)" : manifest->language_count > 1 ? ")" : "");
    buf_add_text(&line, missing->holes.count > 0 ? "; worst: " : "");
    missing_worst(&missing->holes, &line);
    if (manifest->unknown.sentences > 0) {
        buf_addf(&line, "; kept as sentences %s: ", format_count(manifest->unknown.sentences, count));
        missing_worst(&missing->sentences, &line);
    }
    log_say("holes      %s", buf_text(&line));
}

static void say_sums(const struct counts *counts)
{
    char files[32];
    if (counts->sums_right > 0)
        log_say("sums       %s file%s right by SHA256SUMS", format_count(counts->sums_right, files),
                counts->sums_right == 1 ? " is" : "s are");
}

static void say_lengths(const struct manifest *manifest)
{
    char samples[56], tokens[32];
    for (size_t i = 0; i < manifest->length_count; i++) {
        const struct manifest_length *length = &manifest->lengths[i];
        char name[16] = "";
        if (length->split == SPLIT_TRAIN)
            snprintf(name, sizeof name, "seq%u", length->seq);
        log_say("%-10s %s %s, %s tokens, %.1f %% filled, %u shard%s", name, split_names[length->split],
                format_counted(length->samples, "sample", samples), format_short(length->tokens, tokens),
                (double)manifest_filled(length) / 1e4, length->shards, length->shards == 1 ? "" : "s");
    }
}

static const char *slowest(const struct build_facts *facts)
{
    const struct belt_load *most = &facts->loads[0];
    for (int i = 1; i < BUILD_STEPS; i++)
        if (belt_seconds(&facts->loads[i]) > belt_seconds(most))
            most = &facts->loads[i];
    return most->name ? most->name : "sealing";
}

/* The facts of `show --json` and of this run; `facts` NULL: nothing was done. */
static int print_json(const char *directory, const struct manifest *manifest, const struct build_facts *facts,
                      struct error *err)
{
    SCOPED(mem_free_at) char *next = next_command(directory);
    json_auto_t *build = build_memory(directory);
    json_t *object = facts_json(manifest, build);
    json_object_set_new(object, "seconds", json_real(facts ? facts->seconds : 0.0));
    json_object_set_new(object, "peak_memory_bytes", json_integer((json_int_t)mem_peak_bytes()));
    json_object_set_new(object, "next", json_string(next));
    return facts_print(object, err);
}

int summary_print(const char *directory, const struct dsdata_settings *settings, const struct resource_plan *plan,
                  const struct manifest *manifest, const struct counts *counts, const struct missing *missing,
                  const struct build_facts *facts, struct error *err)
{
    if (settings->json)
        return print_json(directory, manifest, facts, err);
    char time[32], bytes[32], xml[32], root[17], threads[56];
    uint64_t size = manifest->vocab_bytes;
    for (size_t i = 0; i < manifest->length_count; i++)
        size += manifest_length_bytes(manifest, &manifest->lengths[i]);
    char processes[32] = "";
    if (facts->processes > 1)
        snprintf(processes, sizeof processes, "%u processes of ", facts->processes);
    log_say("done in %s on %s%s   %s   %s", format_seconds(facts->seconds, time), processes,
            format_counted(plan->threads, "thread", threads), directory, format_bytes(size, bytes));
    if (facts->vocabulary.learned.pieces > 0)
        log_say("vocabulary %s pieces learned from %s word%s", format_count(facts->vocabulary.learned.pieces, bytes),
                format_short(facts->vocabulary.words, time), facts->vocabulary.words == 1 ? "" : "s");
    account_say(counts, missing, facts->of_pages);
    if (facts->duplicates > counts->pages[PAGE_DUPLICATE])
        log_say("duplicates %s of the documents have the text of an earlier one (--duplicates drop leaves them out)",
                format_count(facts->duplicates, bytes));
    say_templates(counts);
    say_holes(manifest, missing);
    say_sums(counts);
    say_lengths(manifest);
    log_say("pieces     %s in %s sentence%s, %.2f %% [UNK]", format_short(counts->pieces, bytes),
            format_short(counts->sentences, xml), counts->sentences == 1 ? "" : "s",
            percent(counts->unknown, counts->pieces));
    log_say("speed      %s of %s at %.1f MB/s, peak memory %.2f GB; slowest part: %s",
            format_bytes(counts->input_bytes, xml), facts->of_pages ? "XML" : "text",
            (double)counts->input_bytes / 1e6 / fmax(facts->seconds, 1e-3), (double)mem_peak_bytes() / 1e9,
            slowest(facts));
    log_say("root       %s   text_version %u", hash_text(manifest->root_hash, root), manifest->text_version);
    say_next(next_command(directory));
    return 0;
}

int summary_finished(const char *directory, const struct dsdata_settings *settings, const struct manifest *manifest,
                     struct error *err)
{
    char root[17];
    if (settings->json)
        return print_json(directory, manifest, NULL, err);
    log_say("%s is finished already: nothing to do (--fresh builds it anew)", directory);
    log_say("root       %s   text_version %u", hash_text(manifest->root_hash, root), manifest->text_version);
    say_next(next_command(directory));
    return 0;
}

static json_t *loads_json(const struct build_facts *facts)
{
    json_t *loads = json_object();
    for (int i = 0; i < BUILD_STEPS; i++)
        if (facts->loads[i].name)
            json_object_set_new(loads, facts->loads[i].name, json_real(belt_seconds(&facts->loads[i])));
    json_object_set_new(loads, "seal", json_real(facts->seal_seconds));
    return loads;
}

int summary_build_json(const char *directory, const struct dsdata_settings *settings, const struct inputs *inputs,
                       const struct resource_plan *plan, json_t *identity, const struct counts *counts,
                       const struct missing *missing, const struct build_facts *facts, struct error *err)
{
    json_t *sources = json_array(), *command = json_array();
    for (size_t i = 0; i < inputs->count; i++)
        json_array_append_new(sources, provenance_json(inputs_name(inputs, i), dump_siteinfo(inputs->dumps[i]),
                                                       inputs->languages[i].code));
    for (int i = 0; i < settings->argc; i++)
        json_array_append_new(command, json_name(settings->argv[i]));
    char date[32];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    struct utsname host;
    uname(&host);
    json_auto_t *object = json_pack(
        "{so so sO ss ss ss sI sI sI sf sI sI sI s{sIsI} s{sIsI} so s{sosI} so so so}", "sources", sources, "command",
        command, "identity", identity, "date", date, "host", host.nodename, "versions", settings->program->version,
        "processes", (json_int_t)facts->processes, "threads", (json_int_t)plan->threads, "memory",
        (json_int_t)plan->memory, "seconds", facts->seconds, "peak_memory_bytes", (json_int_t)mem_peak_bytes(),
        "xml_bytes", (json_int_t)counts->input_bytes, "duplicates", (json_int_t)facts->duplicates, "damage", "places",
        (json_int_t)counts->gaps, "bytes", (json_int_t)counts->gap_bytes, "sums", "right",
        (json_int_t)counts->sums_right, "wrong", (json_int_t)counts->sums_wrong, "thread_seconds", loads_json(facts),
        /* Templates: most bytes first, then by name; "missed": the most that a row's bytes may lack. They are not part
         * of the dataset, because what the bounded table forgets may depend on how the work was divided. */
        "templates", "rows", account_names(&missing->templates, true), "missed", (json_int_t)missing->templates.missed,
        "holes", account_names(&missing->holes, false), "sentences", account_names(&missing->sentences, false), "leaks",
        account_names(&missing->leaks, false));
    SCOPED(mem_free_at) char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    if (!text)
        return fail(err, ERR_BUG, "build.json cannot be made: a name on the command line is not UTF-8");
    SCOPED(mem_free_at) char *path = path_join(directory, BUILD_NAME);
    return file_write_all(path, text, strlen(text), err);
}
