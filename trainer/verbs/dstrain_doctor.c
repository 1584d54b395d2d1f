/* dstrain doctor: what a training would find on this machine. Products are measured for a fifth of a second each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/child.h"
#include "base/cores.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/output.h"
#include "trainer/device/backend.h"
#include "trainer/comm/comm.h"
#include "trainer/device/machine.h"
#include "trainer/recipe/recipe.h"

/* The shape of base's feed-forward part. */
enum { ROWS = 1024, HIDDEN = 768, INNER = 3072 };

/* GFLOP/s in one precision; negative if it is not available. */
static double measure(enum precision precision, unsigned threads)
{
    struct error ignored;
    struct ops *ops =
        cpu_open(&(struct cpu_options){.precision = precision, .level = cpu_level(), .threads = threads}, &ignored);
    if (!ops)
        return -1;
    const double rate = machine_product_rate(ops, ROWS, INNER, HIDDEN, 0.2, (struct machine_room){0});
    ops->close(ops);
    return rate * 1e-9;
}

/* Returns what CUDA has, JSON null if it cannot be used; the caller json_decref's it. `text`: prints it, or why it
 * cannot be used. */
static json_t *look_at_cuda(bool text)
{
    struct cuda_facts facts;
    struct error err;
    char memory[32];
    const int result = backend_probe(DEVICE_CUDA, &facts, &err);
    if (result < 0) {
        if (text)
            output_line("device     cpu only: %s", err.text);
        if (text && facts.runtime > 0)
            output_line("           built with CUDA %d.%d, cuBLASLt %" PRIu64, facts.runtime / 1000,
                        facts.runtime % 1000 / 10, facts.products);
        return json_null();
    }
    if (text)
        output_line("device     cuda: %s, compute capability %d.%d, %d multiprocessors, %s; driver for CUDA %d.%d, "
                    "built with %d.%d; %d in all",
                    facts.name, facts.major, facts.minor, facts.processors, format_bytes(facts.memory, memory),
                    facts.driver / 1000, facts.driver % 1000 / 10, facts.runtime / 1000, facts.runtime % 1000 / 10,
                    facts.count);
    return json_pack("{s:i, s:s, s:i, s:i, s:i, s:I, s:i, s:i, s:I}", "gpus", facts.count, "name", facts.name, "major",
                     facts.major, "minor", facts.minor, "multiprocessors", facts.processors, "memory_bytes",
                     (json_int_t)facts.memory, "driver", facts.driver, "runtime", facts.runtime, "cublaslt",
                     (json_int_t)facts.products);
}

/* Returns the version of each communication library, JSON null if it cannot be used. `text`: prints them. */
static json_t *look_at_comm(bool text)
{
    json_t *all = json_object();
    for (enum comm_kind kind = COMM_GLOO; kind < COMM_KINDS; kind++) {
        struct error ignored;
        char line[COMM_TEXT_BYTES];
        const char *version = comm_kind_version(kind, &ignored);
        if (text)
            output_line("%s %s", kind == COMM_GLOO ? "processes " : "          ", comm_kind_text(kind, line));
        json_object_set_new(all, comm_kind_name(kind), version ? json_string(version) : json_null());
    }
    return all;
}

/* The exit code of gpu_check.sh as an error: what failed is on the screen and in the archive. */
static int judge(int code, const char *out, struct error *err)
{
    if (code == 77)
        return fail(err, ERR_RESOURCE, "there is no NVIDIA driver or card here: nothing was tested");
    if (code >= 0)
        log_say("send       %s/results.tar.zst, or .gz: all results, with the names of card, driver and system", out);
    if (code == 143)
        return fail(err, ERR_STOPPED, "stopped on request");
    return code > 0 ? fail(err, ERR_VERIFY, "some checks failed: %s/summary.txt", out) : code;
}

/* --gpu: scripts/gpu_check.sh, where it and its programs are beside this one, as scripts/gpu_pack.sh and the wheel put
 * them. */
static int check_gpu(const char *out, struct error *err)
{
    char shell[] = "bash", *words[] = {shell, NULL, mem_copy_text(out), NULL};
    SCOPED(mem_free_at) char *script = module_beside("gpu_check.sh", err), *programs = module_beside(".", err);
    int code = -1;
    if (script && !path_exists(script)) {
        fail_at(err, ERR_USAGE, script, ERROR_NO_OFFSET, "is missing: the checks of a GPU");
        hint(err, CUDA_HINT ", then scripts/gpu_check.sh");
    } else if (script && programs) {
        setenv("PREBUILT", programs, 1);
        words[1] = script;
        code = judge(child_run("/bin/bash", words, err), out, err);
    }
    mem_free(words[2]);
    return code;
}

int dstrain_doctor(void *context, struct opt_paths bare, struct error *err)
{
    const struct settings *settings = context;
    struct error ignored = {0};
    char memory[32], disk[32], cores[56];
    const unsigned threads = cores_allowed();
    const int64_t disk_free = path_free_bytes(".", &ignored);
    const bool text = !settings->json;
    if (settings->gpu_check && settings->json)
        return fail(err, ERR_USAGE, "--gpu writes a table and an archive, no JSON");
    if (settings->gpu_check)
        return check_gpu(bare.count ? bare.items[0] : "gpu-check", err);
    if (bare.count > 0)
        return fail(err, ERR_USAGE, "%s: doctor takes a folder only with --gpu", bare.items[0]);
    json_auto_t *rates = json_object();
    if (text) {
        output_line("processor  %s, %s", cpu_level_name(cpu_level()), format_counted(threads, "thread", cores));
        output_line("memory     %s", format_bytes(memory_allowed(), memory));
        output_line("disk       %s free here", format_bytes(disk_free > 0 ? (uint64_t)disk_free : 0, disk));
    }
    for (enum precision precision = 0; precision < PRECISION_KINDS; precision++) {
        const double rate = precision_kinds[precision].offered ? measure(precision, threads) : -1;
        if (rate < 0)
            continue;
        json_object_set_new(rates, precision_name(precision), json_real(rate));
        if (text)
            output_line("products   %s: %.0f GFLOP/s%s", precision_name(precision), rate,
                        precision == cpu_default_precision(cpu_level()) ? "  (the default)" : "");
    }
    json_auto_t *cuda = look_at_cuda(text), *comm = look_at_comm(text);
    if (text) {
        fflush(stdout); /* facts precede messages, even if both go to one pipe */
        say_next(command_text("dstrain plan --shards DIR"));
    } else {
        json_t *facts = json_pack(
            "{s:s, s:i, s:I, s:I, s:O, s:s, s:O, s:O}", "level", cpu_level_name(cpu_level()), "threads", (int)threads,
            "memory_bytes", (json_int_t)memory_allowed(), "disk_free_bytes", (json_int_t)disk_free, "gflops_per_second",
            rates, "default_precision", precision_name(cpu_default_precision(cpu_level())), "cuda", cuda, "comm", comm);
        output_json(facts, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    }
    return 0;
}
