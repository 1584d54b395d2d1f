/* Tables of dstrain's options, of their names in other programs, and of the verbs. Each verb is a function of the
 * settings (settings.h). */
#include "trainer/options.h"

#include "base/launcher.h"
#include "shards/format.h"
#include "trainer/device/backend.h"
#include "trainer/comm/comm.h"
#include "trainer/cpu/cpu_backend.h"
#include "trainer/data/shard_source.h"
#include "trainer/recipe/keys.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/schedule.h"
#include "trainer/recipe/settings.h"

#include <jansson.h>
#include <stdio.h>
#include <xxhash.h>

#define FIELD(name) offsetof(struct settings, name)

static struct opt_choice optimizer_choice(size_t i)
{
    return i < OPTIMIZER_KINDS ? (struct opt_choice){optimizer_kinds[i].name, optimizer_kinds[i].help, (int)i}
                               : (struct opt_choice){0};
}

static struct opt_choice recipe_choice(size_t i)
{
    const struct named_recipe *recipe = recipe_at(i);
    return recipe ? (struct opt_choice){recipe->name, NULL, (int)i} : (struct opt_choice){0};
}

static struct opt_choice schedule_choice(size_t i)
{
    for (int kind = 0; kind < SCHEDULE_KINDS; kind++)
        if (schedule_types[kind].ours && i-- == 0)
            return (struct opt_choice){schedule_types[kind].name, NULL, kind};
    return (struct opt_choice){0};
}

static struct opt_choice precision_choice(size_t i)
{
    for (int precision = 0; precision < PRECISION_KINDS; precision++)
        if (precision_kinds[precision].offered && i-- == 0)
            return (struct opt_choice){precision_kinds[precision].name, NULL, precision};
    return (struct opt_choice){0};
}

static struct opt_choice level_choice(size_t i)
{
    return i < CPU_LEVELS ? (struct opt_choice){cpu_level_name((enum cpu_level)i), NULL, (int)i}
                          : (struct opt_choice){0};
}

OPT_CHOICES(masks_choice, mask_policies, MASK_POLICIES)
OPT_CHOICES(split_choice, split_names, SPLITS)

static struct opt_choice comm_choice(size_t i)
{
    if (i == 0)
        return (struct opt_choice){"auto", NULL, COMM_AUTO};
    return i < COMM_KINDS ? (struct opt_choice){comm_kind_name((enum comm_kind)i), NULL, (int)i}
                          : (struct opt_choice){0};
}

/* clang-format off */
static const struct opt_row rows[] = {
    {.name = "train", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(train), .value = "FILE",
     .verbs = " squad ", .default_help = "no training", .help = "Questions to train on, in SQuAD's JSON format."},
    {.name = "dev", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(dev), .value = "FILE", .verbs = " squad ",
     .default_help = "none",
     .help = "Questions to answer and score; scored as SQuAD 2 if they have \"is_impossible\"."},
    {.name = "dev", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(dev), .value = "FILE", .verbs = " eval ",
     .default_help = "the run's",
     .help = "Score a fine-tuned model on this file: questions for squad, a table for classify, else a dev.tsv of its "
             "task."},
    {.name = "train", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(train), .value = "FILE",
     .verbs = " classify ", .help = "Table to train on (required): CSV with names of columns, TSV or JSON lines."},
    {.name = "dev", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(dev), .value = "FILE",
     .verbs = " classify ", .default_help = "a tenth of --train, by a hash of the text",
     .help = "Table to score on, with the same columns."},
    {.name = "text", .type = OPT_TEXT, .scope = SCOPE_RUN, .field = FIELD(text), .value = "COLUMN",
     .verbs = " classify eval predict ", .default_help = "the only sensible one", .help = "Column of a table with the text."},
    {.name = "text2", .type = OPT_TEXT, .scope = SCOPE_RUN, .field = FIELD(text2), .value = "COLUMN",
     .verbs = " classify eval predict ", .default_help = "none",
     .help = "Column with the second text, for pairs of texts."},
    {.name = "label", .type = OPT_TEXT, .scope = SCOPE_RUN, .field = FIELD(label), .value = "COLUMN",
     .verbs = " classify eval predict ", .default_help = "the only sensible one", .help = "Column with the label."},
    {.name = "kind", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(kind), .value = "single|regression",
     .choices = "single|regression", .default_text = "single", .verbs = " classify ",
     .help = "What a label is: the name of a class, or a number."},
    {.name = "doc-stride", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(doc_stride), .value = "N",
     .default_text = "128", .min = 1, .max = 4096, .verbs = " squad eval ",
     .help = "Distance in tokens between the starts of consecutive windows of a context."},
    {.name = "max-query", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(max_query), .value = "N",
     .default_text = "64", .min = 1, .max = 4096, .verbs = " squad eval ",
     .help = "Maximum length of a question in tokens; longer ones are cut."},
    {.name = "max-answer", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(max_answer), .value = "N",
     .default_text = "30", .min = 1, .max = 4096, .verbs = " squad eval ",
     .help = "Maximum length of an answer in tokens."},
    {.name = "n-best", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(n_best), .value = "N",
     .default_text = "20", .min = 1, .max = 1000, .verbs = " squad eval ",
     .help = "Number of best start and end positions to combine in each window, and of answers to keep."},
    {.name = "logits", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(logits), .value = "FILE",
     .verbs = " squad ", .default_help = "the model's",
     .help = "For testing: take start_logits and end_logits [windows, tokens] from a safetensors file, not the model."},
    {.name = "null-threshold", .type = OPT_REAL, .scope = SCOPE_RUN, .field = FIELD(null_threshold), .value = "X",
     .default_text = "0.0", .real_min = -1e6, .real_max = 1e6, .verbs = " squad eval ",
     .help = "SQuAD 2: predict no answer if its score exceeds the best answer's by more than X."},
    {.name = "data", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(glue), .value = "DIR", .verbs = " glue ",
     .help = "Folder of the GLUE tasks: DIR/CoLA/train.tsv, DIR/MRPC/dev.tsv ..."},
    {.name = "data", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(glue), .value = "DIR", .verbs = " eval ",
     .default_help = "the run's",
     .help = "Score a model that was fine-tuned for a task of GLUE on the dev files of DIR's folder of that task."},
    {.name = "task", .type = OPT_TEXT, .scope = SCOPE_RUN, .field = FIELD(task), .value = "NAME", .verbs = " eval ",
     .default_help = "the run's, or what config.json says",
     .help = "Task that the model was fine-tuned for: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, classify or squad."},
    {.name = "seeds", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(seeds), .value = "K", .default_text = "1",
     .min = 1, .max = 1000, .verbs = " glue classify ",
     .help = "Train K times, with --seed and the K-1 seeds after it; print mean, deviation, median and best score."},
    {.name = "shards", .type = OPT_PATHS, .scope = SCOPE_CONTENT, .each = true, .field = FIELD(shards),
     .value = "DIR[=WEIGHT]", .verbs = " train plan ",
     .help = "Dataset made by dsdata build. Repeat it with weights to mix datasets: --shards A=0.7 --shards B=0.3."},
    {.name = "shards", .type = OPT_PATHS, .scope = SCOPE_CONTENT, .each = true, .field = FIELD(shards),
     .value = "DIR[=WEIGHT]", .verbs = " eval report verify ", .default_help = "the run's",
     .help = "Dataset to read instead of the run's, or where that is now; repeat it for a mixture."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(seq), .value = "N", .min = 16,
     .max = 4096, .verbs = " squad ", .default_text = SQUAD_SEQ,
     .help = "Window length in tokens: the question, a stretch of the context, and [CLS], [SEP], [SEP]."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(seq), .value = "N", .min = 16,
     .max = 4096, .verbs = " glue classify ", .default_text = GLUE_SEQ,
     .help = "Maximum length of a sample in tokens; longer ones are cut."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(seq), .value = "N", .min = 16,
     .max = 4096, .verbs = " bench ", .default_help = "128", .help = "Sequence length in tokens."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(seq), .value = "N", .min = 16,
     .max = 4096, .verbs = " train plan ", .default_help = "the shortest in the dataset",
     .help = "Sequence length in tokens; one of the dataset's."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(seq), .value = "N", .min = 16, .max = 4096,
     .verbs = " eval ", .default_help = "the run's; else the shortest in the dataset, 384 for squad, 128 for GLUE",
     .help = "Sequence length in tokens."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(seq), .value = "N", .min = 16,
     .max = 4096, .verbs = " predict ", .default_help = "the run's; else the model's positions, at most 512",
     .help = "Maximum length of a text in tokens; longer ones are cut."},
    {.name = "model", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(model), .value = "NAME|FILE",
     .verbs = " bench ", .default_help = "base",
     .help = "tiny, mini, small, medium, base, large, 1.5b, or a Hugging Face config.json."},
    {.name = "model", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(model), .value = "NAME|FILE",
     .verbs = " plan ", .default_help = "the one that the plan proposes",
     .help = "tiny, mini, small, medium, base, large, 1.5b, or a Hugging Face config.json."},
    {.name = "model", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(model), .value = "NAME|FILE",
     .verbs = " train ", .default_help = "base; dstrain plan proposes one",
     .help = "tiny, mini, small, medium, base, large, 1.5b, or a Hugging Face config.json; the vocabulary size is the "
             "dataset's."},
    {.name = "init", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(init), .value = "DIR",
     .verbs = " train plan ", .default_help = "random, by --seed",
     .help = "Start from the weights of a Hugging Face directory, a run or a checkpoint, and use its model config."},
    {.name = "init", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(init), .value = "DIR",
     .verbs = " tune ",
     .help = "Model to start from (required): a Hugging Face directory, a run or a checkpoint."},
    {.name = "init-moments", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(init_moments),
     .verbs = " train plan ",
     .help = "With --init RUN: also load the optimizer's moments; step, schedule and data position start from 0."},
    {.name = "grow-vocab", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(grow_vocab),
     .verbs = " train plan ",
     .help = "With --init: append rows for the pieces that the dataset has beyond the model's, each the mean of the "
             "pieces that spell it."},
    {.name = "resume", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(resume), .value = "RUN",
     .verbs = " train plan ",
     .help = "Start a new run from another run's weights, moments, step and data position, with other settings."},
    {.name = "config", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(config), .value = "FILE",
     .verbs = " train tune plan ",
     .help = "JSON file with DeepSpeed's keys and defaults; command-line options override it."},
    {.name = "recipe", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(recipe), .choice = recipe_choice,
     .verbs = " train plan ", .default_help = "none",
     .help = "Built-in configuration, used instead of --config; command-line options override it."},
    {.name = "set", .type = OPT_PATHS, .scope = SCOPE_IDENTITY, .field = FIELD(set), .value = "KEY=VALUE...",
     .verbs = " train tune plan ",
     .help = "Set keys as in a --config file: optimizer.type=LANS optimizer.params.lr=0.002 gradient_clipping=1."},
    {.name = "pld-compat", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(pld_compat),
     .verbs = " train plan ",
     .help = "With progressive_layer_drop: scale layers and count steps exactly as DeepSpeed does, bias included."},
    {.name = "batch", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .ramp = true, .field = FIELD(batch), .value = "N|A:B",
     .default_text = SQUAD_BATCH, .min = 1, .max = 1u << 20, .verbs = " squad ",
     .help = "Windows per step, over all processes; A:B grows from A to B over --batch-warmup."},
    {.name = "batch", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .ramp = true, .field = FIELD(batch), .value = "N|A:B",
     .default_text = GLUE_BATCH, .min = 1, .max = 1u << 20, .verbs = " glue classify ",
     .help = "Samples per step, over all processes; A:B grows from A to B over --batch-warmup."},
    {.name = "batch", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .ramp = true, .field = FIELD(batch), .value = "N|A:B",
     .default_text = "256", .min = 1, .max = 1u << 20, .verbs = " train plan ",
     .help = "Sequences per step, over all processes; A:B grows from A to B over --batch-warmup."},
    {.name = "batch-warmup", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .key = "batch_warmup.steps",
     .field = FIELD(batch_warmup), .value = "P", .real_min = 0, .real_max = 1e9, .default_help = "none",
     .verbs = " train tune plan ",
     .help = "With --batch A:B: number of steps over which it grows; below 1, a fraction of all steps."},
    {.name = "micro-batch", .type = OPT_COUNT, .scope = SCOPE_SAME_BITS, .field = FIELD(micro_batch), .value = "N",
     .min = 1, .max = 1u << 16, .default_help = "2,048 tokens; on CUDA what its memory allows",
     .verbs = " train tune plan ",
     .help = "Tokens of one forward pass, as a number of full-length sequences; gradients accumulate up to --batch."},
    {.name = "micro-batch", .type = OPT_COUNT, .scope = SCOPE_SAME_BITS, .field = FIELD(micro_batch), .value = "N",
     .min = 1, .max = 1u << 16, .default_help = "2,048 tokens; on CUDA what its memory allows, for bench 32,768",
     .verbs = " eval bench ", .help = "Tokens of one forward pass, as a number of full-length sequences."},
    {.name = "steps", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(steps), .value = "N", .min = 1,
     .max = UINT32_MAX, .verbs = " tune ", .default_help = "from --epochs",
     .help = "Number of steps of the whole run."},
    {.name = "steps", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(steps), .value = "N",
     .default_text = "1000", .min = 1, .max = UINT32_MAX, .verbs = " train plan ",
     .help = "Number of steps of the whole run."},
    {.name = "epochs", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(epochs), .value = "X",
     .default_text = "2", .real_min = 1e-6, .real_max = 1e6, .verbs = " squad ",
     .help = "Passes over all windows; or give --steps."},
    {.name = "epochs", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(epochs), .value = "X",
     .default_text = "3", .real_min = 1e-6, .real_max = 1e6, .verbs = " glue classify ",
     .help = "Passes over all samples; or give --steps."},
    {.name = "epochs", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(epochs), .value = "X",
     .real_min = 1e-6, .real_max = 1e6, .default_help = "from --steps", .verbs = " train plan ",
     .help = "Length of the run in epochs, instead of --steps."},
    {.name = "lr", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .key = "optimizer.params.lr", .field = FIELD(lr),
     .value = "X", .default_text = "3e-5", .real_min = 0, .real_max = 1e3, .verbs = " squad ",
     .help = "Peak learning rate."},
    {.name = "lr", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .key = "optimizer.params.lr", .field = FIELD(lr),
     .value = "X", .default_text = "5e-5", .real_min = 0, .real_max = 1e3, .verbs = " glue classify ",
     .help = "Peak learning rate."},
    {.name = "lr", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .key = "optimizer.params.lr", .field = FIELD(lr),
     .value = "X", .default_text = "1e-4", .real_min = 0, .real_max = 1e3, .verbs = " train plan ",
     .help = "Peak learning rate."},
    {.name = "warmup", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(warmup), .value = "P",
     .default_text = "0.1", .real_min = 0, .real_max = 1e12, .verbs = " tune ",
     .help = "Number of warm-up steps; below 1, a fraction of all steps."},
    {.name = "warmup", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(warmup), .value = "P",
     .default_text = "0.01", .real_min = 0, .real_max = 1e12, .verbs = " train plan ",
     .help = "Number of warm-up steps; below 1, a fraction of all steps."},
    {.name = "schedule", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(schedule),
     .choice = schedule_choice, .default_text = "linear", .verbs = " train tune plan ",
     .help = "Learning-rate schedule after the warm-up; --config has more."},
    {.name = "decay", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .field = FIELD(decay), .value = "P",
     .default_text = "0.2", .real_min = 0, .real_max = 1e12, .verbs = " train tune plan ",
     .help = "With --schedule wsd: number of final steps over which the rate falls to 0; below 1, a fraction of all."},
    {.name = "optimizer", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(optimizer),
     .choice = optimizer_choice, .default_text = "adam", .verbs = " train tune plan bench ",
     .help = "Optimizer."},
    {.name = "precision", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(precision),
     .choice = precision_choice, .default_help = "bf16 on CUDA and on processors with bf16 instructions, else fp32",
     .verbs = " train tune plan eval bench ",
     .help = "Type of weights and activations; master weights are fp32."},
    {.name = "precision", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(precision),
     .choice = precision_choice, .default_text = "fp32", .verbs = " score ",
     .help = "Type of weights and activations."},
    {.name = "masks", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .key = "masks", .field = FIELD(masks),
     .choice = masks_choice, .default_text = "auto", .verbs = " train plan ",
     .help = "stored: the dataset's; fresh: newly drawn; auto: stored in the first epoch or with --no-shuffle, else "
             "fresh."},
    {.name = "mask-prob", .type = OPT_MILLIONTHS, .scope = SCOPE_IDENTITY, .key = "mask_prob", .ramp = true,
     .field = FIELD(mask_prob), .value = "P|P:Q", .default_help = "the dataset's", .verbs = " train plan ",
     .help = "Fraction of tokens to mask; makes all masks fresh. P:Q changes it from P to Q over the run."},
    {.name = "dropout", .type = OPT_REAL, .scope = SCOPE_IDENTITY, .key = "dropout", .field = FIELD(dropout),
     .value = "P", .real_min = 0, .real_max = 0.99, .default_help = "the model's; 0.1 for named models",
     .verbs = " train tune plan bench ", .help = "Dropout probability, for hidden layers and attention."},
    {.name = "no-shuffle", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(no_shuffle),
     .verbs = " train tune plan ", .help = "Read samples in file order in every epoch."},
    {.name = "seed", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(seed), .value = "N",
     .default_text = "42", .max = UINT32_MAX, .verbs = " train tune plan ",
     .help = "Seed of initial weights, sample order, dropout and fresh masks."},
    {.name = "same-bits", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(same_bits),
     .verbs = " train tune plan ",
     .help = "Sum gradients as integers: checkpoints are the same, bit for bit, for any number of processes."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "DIR",
     .verbs = " train plan ", .default_help = "runs/MODEL-SEQ-HASH, with a hash of the settings",
     .help = "The run's directory; repeat the same command to resume."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "DIR",
     .verbs = " tune ",
     .help = "Directory of the run and of its scores (required); repeat the same command to resume."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "DIR",
     .verbs = " export ", .help = "Directory to create."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE",
     .verbs = " report ", .default_help = "report.html in the first run's directory",
     .help = "HTML page to write; - is standard output."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE",
     .verbs = " predict ", .help = "Table to write (required); - is standard output."},
    {.name = "all", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(all), .verbs = " predict ",
     .help = "A column for the probability of each class, not of the predicted one alone."},
    {.name = "force", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(force),
     .verbs = " train tune report score bench predict ", .help = "Write over a file that this command did not write."},
    {.name = "scores", .type = OPT_PATHS, .scope = SCOPE_PROCESS, .field = FIELD(scores), .value = "FILE|DIR...",
     .verbs = " export ", .default_help = "none",
     .help = "Scores to show in the model card: output of score --json, or a directory with scores.json."},
    {.name = "fresh", .type = OPT_FLAG, .scope = SCOPE_RUN, .field = FIELD(fresh), .verbs = " train tune ",
     .help = "Start over; an existing run is renamed to DIR.1."},
    {.name = "save-every", .type = OPT_COUNT_OR_TIME, .scope = SCOPE_RUN, .field = FIELD(save_every), .value = "N|TIME",
     .default_text = "30m", .min = 1, .verbs = " train tune ",
     .help = "Steps or time between checkpoints; the end of the run is always saved."},
    {.name = "keep-last", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(keep_last), .value = "N",
     .default_text = "3", .verbs = " train tune plan ",
     .help = "Number of newest checkpoints to keep; 0 keeps all."},
    {.name = "keep-every", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(keep_every), .value = "N", .min = 1,
     .verbs = " train tune ", .default_help = "none",
     .help = "Also save every N-th step, and never remove these checkpoints."},
    {.name = "keep-best", .type = OPT_FLAG, .scope = SCOPE_RUN, .field = FIELD(keep_best),
     .verbs = " train tune plan ",
     .help = "Also save and keep the checkpoint with the lowest held-out loss; RUN/best names it."},
    {.name = "save-fails", .type = OPT_CHOICE, .scope = SCOPE_RUN, .field = FIELD(save_fails), .value = "stop|go-on",
     .default_text = "stop", .choices = "stop|go-on", .verbs = " train tune ",
     .help = "If a checkpoint cannot be written: stop with exit code 7, or warn and go on until the next one."},
    {.name = "skip-damaged", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(skip_damaged),
     .verbs = " train tune ", .help = "If the newest checkpoint is damaged, resume from the newest intact one."},
    {.name = "eval-every", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(eval_every), .value = "N", .min = 1,
     .verbs = " train tune ", .default_help = "only at the end",
     .help = "Steps between evaluations on the held-out samples."},
    {.name = "eval-samples", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(eval_samples), .value = "N",
     .default_text = "10000", .verbs = " train tune eval ", .help = "Maximum number of samples per evaluation."},
    {.name = "patience", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(patience), .value = "N", .min = 1,
     .verbs = " train tune ", .default_help = "no limit",
     .help = "Stop after N evaluations in a row without a lower held-out loss; needs --eval-every."},
    {.name = "show", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(shown), .value = "N", .max = 1000,
     .verbs = " eval ", .default_help = "none",
     .help = "Print N samples with the model's guesses for their masked tokens, beside always guessing the commonest "
             "token."},
    {.name = "log-every", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(log_every), .value = "N",
     .default_text = "10", .min = 1, .verbs = " train tune ", .help = "Steps between lines of metrics.jsonl."},
    {.name = "norms-every", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(norms_every), .value = "N", .min = 1,
     .verbs = " train tune ", .default_help = "never",
     .help = "Steps between norms of every tensor's gradient, weights and update in the TensorBoard events."},
    {.name = "stop-after", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(stop_after), .value = "N", .min = 1,
     .verbs = " train tune ", .default_help = "never",
     .help = "Save and stop with exit code 75 after N steps of this invocation; the same command resumes."},
    {.name = "time-limit", .type = OPT_DURATION, .scope = SCOPE_RUN, .field = FIELD(time_limit), .value = "TIME",
     .min = 1, .verbs = " plan ", .default_help = "a day",
     .help = "Time that a start of the training has (90s, 30m, 8h); without --model, the proposal ends in it."},
    {.name = "time-limit", .type = OPT_DURATION, .scope = SCOPE_RUN, .field = FIELD(time_limit), .value = "TIME",
     .min = 1, .verbs = " train tune ", .default_help = "the end of the Slurm job, if any",
     .help = "Save and stop with exit code 75 before this time (90s, 30m, 8h) is up; the same command resumes."},
    {.name = "dry-run", .letter = 'n', .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(dry_run),
     .verbs = " train ", .help = "Only print the plan, as dstrain plan does."},
    {.name = "price", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(price), .value = "X/h",
     .verbs = " plan ",
     .help = "Price per hour of all machines used, for example 2.50/h; the plan then gives the total cost."},
    {.name = "split", .type = OPT_CHOICE, .scope = SCOPE_RUN, .field = FIELD(split),
     .choice = split_choice, .default_text = "valid", .verbs = " eval ",
     .help = "Training or held-out (valid) samples."},
    {.name = "top", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(top), .value = "K", .default_text = "5",
     .min = 1, .max = 1000, .verbs = " fill-mask ", .help = "Number of guesses for each [MASK]."},
    {.name = "limit", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(limit), .value = "N", .min = 1,
     .verbs = " score ", .default_help = "all", .help = "Score only the first N pairs."},
    {.name = "details", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(details), .value = "FILE",
     .verbs = " score ", .help = "Write the scores of each pair to FILE, one JSON object per line."},
    {.name = "replay", .type = OPT_FLAG, .scope = SCOPE_RUN, .field = FIELD(replay), .verbs = " verify ",
     .help = "Recompute a stretch of the run and compare its checkpoints byte for byte; nothing is written."},
    {.name = "from", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(from), .value = "STEP", .max = UINT32_MAX,
     .verbs = " verify ", .default_help = "the oldest one kept",
     .help = "With --replay: step of the checkpoint to start from; 0 is the start of the run."},
    {.name = "to", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(to), .value = "STEP", .min = 1,
     .max = UINT32_MAX, .verbs = " verify ", .default_help = "the newest one kept",
     .help = "With --replay: step of the last checkpoint to compare; those in between are compared too."},
    {.name = "cpu", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(cpu), .value = "LEVEL",
     .choice = level_choice, .default_help = "what the machine has",
     .verbs = " train tune plan eval report bench verify fill-mask score predict ",
     .help = "Highest level of vector instructions to use."},
    {.name = "device", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(device), .value = DEVICE_NAMES,
     .choices = DEVICE_NAMES, .default_help = "cuda if it is built and present, else cpu",
     .verbs = " train tune plan eval report bench verify fill-mask score predict ", .help = "Device to compute on."},
    {.name = "tune", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(tune), .value = "FILE",
     .verbs = " train tune plan ", .default_help = "the run's own, made when it first starts",
     .help = "Table of cuBLASLt algorithms, written by dstrain bench --tune; the run keeps a copy."},
    {.name = "tune", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(tune), .value = "FILE",
     .verbs = " bench ",
     .help = "Time every cuBLASLt algorithm for this model's matrix products, and write the table to FILE."},
    {.name = "threads", .letter = 'j', .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(threads), .value = "N",
     .min = 1, .max = 1024, .default_help = "all cores",
     .verbs = " train tune plan eval report bench verify fill-mask score predict ",
     .help = "Number of compute threads; results are the same, bit for bit, for any number."},
    {.name = "processes", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(processes), .value = "N", .min = 1,
     .max = LAUNCH_SIZE_MAX, .verbs = " train tune eval verify plan ", .default_help = "1",
     .help = "Start N processes on this machine for one run; they share --threads."},
    {.name = "gpus", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(gpus), .value = "N", .min = 1,
     .max = 1024, .verbs = " train tune eval verify ", .default_help = "1",
     .help = "Start N processes on this machine, one per GPU."},
    {.name = "restarts", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(restarts), .value = "N", .max = 1000,
     .verbs = " train tune ", .default_help = "0",
     .help = "With --processes or --gpus: start all again from the last checkpoint where one is lost, at most N times."},
    {.name = "rank", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(rank), .value = "R",
     .max = LAUNCH_SIZE_MAX - 1, .verbs = " train tune eval verify ", .default_help = "from the launcher, else 0",
     .help = "Rank of this process, from 0; with --processes P, ranks R to R+P-1 are started."},
    {.name = "world-size", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(world_size), .value = "N",
     .min = 1, .max = LAUNCH_SIZE_MAX, .verbs = " train tune eval verify ",
     .default_help = "from the launcher, else 1", .help = "Total number of processes of the run, on all machines."},
    {.name = "rendezvous", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(rendezvous),
     .value = "HOST:PORT|FILE", .verbs = " train tune eval verify ", .default_help = "from the launcher",
     .help = "How the processes find each other: rank 0's address, or a file on a shared file system."},
    {.name = "key", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(key), .value = "FILE|none",
     .verbs = " train tune eval verify ", .default_help = "DS_KEY",
     .help = "The key without which no process joins at HOST:PORT, in a file of mode 600 (none: anyone may join)."},
    {.name = "bind", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(bind), .value = "ADDRESS",
     .verbs = " train tune eval verify ", .default_help = "that of HOST; with a FILE or mpirun, all",
     .help = "The address on which rank 0 listens for the others; '*' means all addresses of its machine."},
    {.name = "comm", .type = OPT_CHOICE, .scope = SCOPE_RUN, .field = FIELD(comm), .value = "NAME",
     .choice = comm_choice, .default_text = "auto", .verbs = " train tune eval verify ",
     .help = "Library that sums gradients (auto: nccl on CUDA, mpi if started by MPI alone, else gloo)."},
    {.name = "wire", .type = OPT_CHOICE, .scope = SCOPE_RUN, .key = "communication_data_type", .field = FIELD(wire),
     .value = "TYPE", .choices = "fp32|bf16", .default_text = "fp32", .verbs = " train tune plan ",
     .help = "Type in which gradients are sent (bf16 halves the bytes, and rounds before and after the sum)."},
    {.name = "zero", .type = OPT_CHOICE, .scope = SCOPE_RUN, .field = FIELD(zero), .value = "STAGE", .choices = "0|1|2",
     .default_help = "zero_optimization.stage, else 0", .verbs = " train tune plan verify ",
     .help = "ZeRO stage (1: moments and master weights are divided among the processes; 2: gradients too)."},
    {.name = "share", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(share), .value = "equal|auto|W",
     .default_text = "equal", .verbs = " train tune eval verify ",
     .help = "Weight of this process when a batch is divided among processes; auto: by measured speed."},
    {.name = "peer-timeout", .type = OPT_DURATION, .scope = SCOPE_PROCESS, .field = FIELD(peer_timeout),
     .value = "TIME", .default_text = "60s", .verbs = " train tune eval verify ",
     .help = "Stop with exit code 9 if a process makes no progress for this long; 0s: never."},
    {.name = "timings", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(timings),
     .verbs = " train tune ", .help = "At the end, print seconds and FLOP/s or bytes/s of every operation."},
    {.name = "dump-gradients", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(dump_gradients),
     .value = "FILE", .verbs = " train tune ",
     .help = "Write the first step's gradients, averaged but not clipped, as safetensors."},
    {.name = "json", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(json),
     .help = "Print facts as one JSON object on standard output."},
    {.name = "quiet", .letter = 'q', .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(quiet),
     .help = "Print only warnings and errors."},
    {.name = "verbose", .letter = 'v', .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(verbose),
     .help = "Print more details."},
    {.name = NULL},
};

static const struct opt_verb verbs[] = {
    {"train", "", "Pre-train BERT on a dataset; repeat the command to resume. The word train may be left out.",
     "dstrain --shards enwiki --model base --steps 100000", dstrain_train, 0, 0, NULL},
    {"plan", "", "Propose a model and steps, or take those given; estimate memory, operations, disk and time.",
     "dstrain plan --shards enwiki", dstrain_plan, 0, 0, NULL},
    {"eval", "RUN|CHECKPOINT|DIR", "Compute loss and accuracy of a model on a split of a dataset, or a fine-tuned model's scores on its task.",
     "dstrain eval runs/base-128-5b81d4", dstrain_eval, 1, 1, NULL},
    {"show", "RUN|CHECKPOINT|DIR", "Show facts about a run, a checkpoint or a model, and the progress of a run.",
     "dstrain show runs/base-128-5b81d4", dstrain_show, 1, 1, NULL},
    {"report", "RUN...", "Write an HTML page about runs: curves in one chart, samples with guesses, settings.",
     "dstrain report runs/base-128-5b81d4", dstrain_report, 1, SIZE_MAX, NULL},
    {"verify", "DIR|RUN|CHECKPOINT",
     "Check every byte of a dataset or of checkpoints against its hashes, or against a recomputation.",
     "dstrain verify runs/base-128-5b81d4", dstrain_verify, 1, 1, NULL},
    {"bench", "", "Measure the speed of every operation, pass, update and step of a model, on random batches.",
     "dstrain bench --model large --seq 128", dstrain_bench, 0, 0, NULL},
    {"fill-mask", "RUN|CHECKPOINT|DIR [TEXT...]",
     "Print the likeliest tokens for every [MASK] of a text, or of each line on standard input.",
     "dstrain fill-mask runs/base-128-5b81d4 \"Paris is the [MASK] of France.\"", dstrain_fill_mask, 1, SIZE_MAX, NULL},
    {"score", "RUN|CHECKPOINT|DIR PAIRS.jsonl",
     "Compute how often a model finds the good sentence of a pair likelier than the bad one.",
     "dstrain score runs/base-128-5b81d4 blimp.jsonl", dstrain_score, 2, 2, NULL},
    {"predict", "RUN|CHECKPOINT|DIR FILE|-",
     "Write a table again with what a fine-tuned model predicts for the text of each row.",
     "dstrain predict runs/tickets new.csv --out answered.csv", dstrain_predict, 2, 2, NULL},
    {"doctor", "", "Show what this machine has, and how fast it multiplies matrices.",
     "dstrain doctor", dstrain_doctor, 0, 0, NULL},
    {"export", "RUN|CHECKPOINT|DIR", "Write a model as a Hugging Face directory.",
     "dstrain export runs/base-128-5b81d4 --out bert-base", dstrain_export, 1, 1, NULL},
    {"squad", "", "Fine-tune a model on questions in SQuAD's format, answer others and score the answers.",
     "dstrain squad --init bert-base --train train-v1.1.json --dev dev-v1.1.json --out runs/squad", dstrain_squad, 0, 0, "tune"},
    {"classify", "", "Fine-tune a model on a table of texts and labels of your own, and score it.",
     "dstrain classify --init bert-base --train train.csv --dev dev.csv --out runs/tickets", dstrain_classify, 0, 0, "tune"},
    {"glue", "TASK",
     "Fine-tune and score a model on a GLUE task: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, all.",
     "dstrain glue mrpc --init bert-base --data glue_data --out runs/mrpc", dstrain_glue, 1, 1, "tune"},
    {.name = NULL},
};

static const struct opt_foreign foreign[] = {
    {"max_steps", "--steps"}, {"max-steps", "--steps"}, {"num_train_steps", "--steps"}, {"num_steps", "--steps"},
    {"num_train_epochs", "--epochs"}, {"num-epochs", "--epochs"},
    {"learning_rate", "--lr"}, {"learning-rate", "--lr"},
    {"warmup_steps", "--warmup"}, {"warmup_proportion", "--warmup"}, {"num_warmup_steps", "--warmup"},
    {"warmup_ratio", "--warmup"},
    {"train_batch_size", "--batch"}, {"batch_size", "--batch"}, {"batch-size", "--batch"},
    {"global-batch-size", "--batch"},
    {"per_device_train_batch_size", "--micro-batch"}, {"per_gpu_train_batch_size", "--micro-batch"},
    {"micro-batch-size", "--micro-batch"},
    {"gradient_accumulation_steps", "--micro-batch (steps follow from it and --batch)"},
    {"output_dir", "--out"}, {"output-dir", "--out"}, {"save", "--out"}, {"input_dir", "--shards"},
    {"data_dir", "--shards (glue: --data)"}, {"data", "--shards"}, {"dataset", "--shards"}, {"data-path", "--shards"},
    {"max_seq_length", "--seq"}, {"max-seq-length", "--seq"}, {"seq-length", "--seq"},
    {"save_steps", "--save-every"}, {"num_steps_per_checkpoint", "--save-every"}, {"save_total_limit", "--keep-last"},
    {"load_best_model_at_end", "--keep-best"}, {"early_stopping_patience", "--patience"},
    {"evaluation_strategy", "--eval-every"}, {"eval_strategy", "--eval-every"},
    {"eval_steps", "--eval-every"}, {"logging_steps", "--log-every"}, {"log_freq", "--log-every"},
    {"init_checkpoint", "--init"}, {"model_name_or_path", "--init"}, {"bert_model", "--init"},
    {"tokenizer_name", "--init (the tokenizer is the one beside the weights)"},
    {"vocab_file", "--init (the vocabulary is the one beside the weights)"},
    {"do_lower_case", "--init (the tokenizer files beside the weights say it)"}, {"config_file", "--model"},
    {"config_name", "--model"}, {"lr_scheduler_type", "--schedule"}, {"optim", "--optimizer"},
    {"resume_from_checkpoint", "the same command again (or --resume)"}, {"overwrite_output_dir", "--fresh"},
    {"weight_decay", "--set optimizer.params.weight_decay=X"}, {"adam_epsilon", "--set optimizer.params.eps=X"},
    {"max_grad_norm", "--set gradient_clipping=X"}, {"mlm_probability", "--mask-prob"},
    {"masked_lm_prob", "--mask-prob"}, {"zero_stage", "--zero"}, {"local_rank", "--rank"},
    {"nproc_per_node", "--processes"}, {"num_gpus", "--gpus"}, {"max_restarts", "--restarts"},
    {"train_file", "--train (squad) or --shards"}, {"predict_file", "--dev"}, {"validation_file", "--dev"},
    {"max_query_length", "--max-query"}, {"max_answer_length", "--max-answer"}, {"n_best_size", "--n-best"},
    {"null_score_diff_threshold", "--null-threshold"},
    {"version_2_with_negative", "nothing: \"is_impossible\" in the files says it"},
    {"task_name", "the first argument of glue (eval: --task)"}, {"top_k", "--top"}, {"topk", "--top"},
    {"fp16", "--precision"}, {"bf16", "--precision bf16"}, {"no_cuda", "--device cpu"},
    {"deepspeed", "--config"}, {"deepspeed_config", "--config"},
    {NULL, NULL},
};

static const struct opt_foreign foreign_verbs[] = {
    {"pretrain", "train"}, {"resume", "the same command again (or --resume RUN)"}, {"test", "eval"},
    {"perplexity", "eval"}, {"infer", "predict, or fill-mask"}, {"apply", "predict"},
    {"finetune", "glue or squad"}, {"fine-tune", "glue or squad"}, {"info", "show"}, {"inspect", "show"},
    {"plot", "report"}, {"compare", "report RUN RUN"}, {"benchmark", "bench"}, {"convert", "export"},
    {"check", "verify"}, {"build", "dsdata build"}, {"vocab", "dsdata vocab"}, {"tokenize", "dsdata tokenize"},
    {NULL, NULL},
};

/* clang-format on */

static const struct opt_note files[] = {
    {"RUN/run.json", "The run's settings, and a record of each start."},
    {"RUN/metrics.jsonl",
     "One JSON object per line: loss, accuracy, learning rate and more, for steps and evaluations."},
    {"RUN/events.out.tfevents.dstrain", "The same for TensorBoard."},
    {"RUN/checkpoints/step-00001000",
     "A checkpoint, which is a Hugging Face directory too; RUN/latest names the newest."},
    {.name = NULL},
};

static const struct opt_note environment[] = {
    {"CUDA_VISIBLE_DEVICES", "Which GPUs may be used."},
    {"DS_KEY", "The key of a run's processes, 32 to 128 hexadecimal digits; --key FILE takes precedence."},
    {"SLURM_JOB_END_TIME", "When the job ends: a run saves and stops with exit code 75 before that."},
    {.name = NULL},
};

static const char *version_text(void)
{
    static char text[512];
    snprintf(text, sizeof text, "dstrain %s\njansson %s\nxxHash %u.%u.%u\n%s\n", DS_VERSION, jansson_version_str(),
             XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100, XXH_versionNumber() % 100, backend_text());
    return text;
}

/* Prints the versions of the modules' libraries; the modules are loaded for that. */
static void print_modules(void)
{
    char text[COMM_TEXT_BYTES];
    for (enum comm_kind kind = COMM_GLOO; kind < COMM_KINDS; kind++)
        printf("%s\n", comm_kind_text(kind, text));
}

struct opt_program options_program(void)
{
    return (struct opt_program){
        .name = "dstrain",
        .summary = "Pre-trains BERT on masked-LM shards.",
        .verbs = verbs,
        .rows = rows,
        .foreign = foreign,
        .foreign_verbs = foreign_verbs,
        .default_verb = "train",
        .not_built_yet = " --kind=multi ",
        .version = version_text(),
        .print_more = print_modules,
        .files = files,
        .environment = environment,
        .see_also = "dsdata(1), mpirun(1), torchrun(1)",
    };
}
