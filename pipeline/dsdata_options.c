/* Tables of dsdata's options, of their names in other programs, and of the verbs. Each verb is a function of the
 * settings (dsdata_settings.h). */
#include "pipeline/dsdata_options.h"

#include "base/output.h"

#include "pipeline/build/dataset_recipe.h"
#include "pipeline/input/probe.h"
#include "pipeline/parts/dsdata_settings.h"
#include "pipeline/verbs/export_formats.h"
#include "shards/format.h"

#include <bzlib.h>
#include <expat.h>
#include <lzma.h>
#include <stdio.h>
#include <utf8proc.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#define FIELD(name) offsetof(struct dsdata_settings, name)

OPT_CHOICES(text_form_choice, text_form_names, TEXT_FORMS)
OPT_CHOICES(algo_choice, learn_names, LEARN_ALGORITHMS)
OPT_CHOICES(pairs_choice, pair_names, PAIR_KINDS)
OPT_CHOICES(masking_choice, mask_names, MASK_KINDS)
OPT_CHOICES(split_choice, split_names, SPLITS)
OPT_CHOICES(export_format_choice, export_format_names, EXPORT_FORMATS)
OPT_CHOICES(keep_choice, keep_names, KEEP_NAMES)
OPT_CHOICES(drop_choice, drop_names, DROP_NAMES)

#define VOCAB_HELP                                                                                                     \
    "vocab.txt with one piece per line; or a Hugging Face directory or tokenizer.json, which also sets case and "      \
    "accents."

/* Unformatted, so that each row can be read as a unit. */
// clang-format off
static const struct opt_row rows[] = {
    {.name = "wiki", .type = OPT_PATHS, .scope = SCOPE_CONTENT, .field = FIELD(inputs[SOURCE_WIKI]), .value = "FILE...",
     .verbs = " build vocab extract templates ",
     .help = "MediaWiki dumps: .xml.bz2 (single- or multistream), .gz, .zst, .xz or plain XML; a folder with the parts "
             "of one dump, checked against the SHA256SUMS file in it, if any; - for standard input."},
    {.name = "text", .type = OPT_PATHS, .scope = SCOPE_CONTENT, .field = FIELD(inputs[SOURCE_TEXT]), .value = "FILE...",
     .verbs = " build vocab extract ", .help = "Plain text files, or folders of them; --text-form says how they are laid out."},
    {.name = "jsonl", .type = OPT_PATHS, .scope = SCOPE_CONTENT, .field = FIELD(inputs[SOURCE_JSONL]), .value = "FILE...",
     .verbs = " build vocab extract ",
     .help = "JSON lines: one object per line, with at least \"text\"; \"id\" may be an integer or a string. Tables (CSV, TSV), "
             "JSON arrays and WET files are read like them. Files, or folders of them."},
    {.name = "text-key", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(text_key), .value = "NAME",
     .default_text = "text", .verbs = " build vocab extract ", .help = "Key of the text in JSON lines, or column of a table."},
    {.name = "id-key", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(id_key), .value = "NAME",
     .default_text = "id", .verbs = " build vocab extract ",
     .help = "Key of the page id in JSON lines; its value is an integer or a string."},
    {.name = "encoding", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(encoding), .value = "NAME",
     .default_help = "utf-8", .verbs = " build vocab extract templates ",
     .help = "Encoding of the inputs, as in windows-1251, latin1, utf-16, shift_jis. utf-8-lossy: UTF-8, with U+FFFD "
             "in the place of ill-formed bytes, which otherwise stop plain text."},
    {.name = "text-form", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(text_form),
     .default_text = "auto", .choice = text_form_choice,
     .verbs = " build vocab extract ",
     .help = "What a line of plain text is: a sentence, a paragraph, a whole document (lines), or part of a paragraph "
             "(wrapped); except with lines, empty lines separate documents. file: each file is one document, of at "
             "most 16 MiB; sections: two empty lines or more separate documents. auto: detected from the beginnings of "
             "all text files together."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_RUN, .field = FIELD(out), .value = "DIR",
     .verbs = " build ",
     .default_help = "the input's name without its extensions, of several their folder's; NAME-shards if that is the input "
                     "itself",
     .help = "Dataset directory to create."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE",
     .verbs = " vocab templates ", .default_help = "-", .help = "File to write; - is standard output."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE|DIR",
     .verbs = " extract ", .default_help = "-",
     .help = "File to write, compressed if its name ends with .gz or .zst, or folder to write into. After an "
             "interruption the same command continues from FILE.unfinished."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE",
     .verbs = " export ", .default_help = "-",
     .help = "File to write; - is standard output. With --format mds or nvidia-hdf5, the folder to create."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "FILE",
     .verbs = " report ", .default_help = "report.html in DIR", .help = "File to write; - is standard output."},
    {.name = "out", .letter = 'o', .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(out), .value = "DIR",
     .verbs = " demo ", .default_text = "demo-out", .help = "Folder to create; one of an earlier demo is replaced."},
    {.name = "force", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(force),
     .verbs = " vocab templates extract export report demo ", .help = "Write over a file that this command did not write."},
    {.name = "vocab", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(vocab), .value = "FILE",
     .verbs = " build ", .default_help = "learned from the inputs", .help = VOCAB_HELP},
    {.name = "vocab", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(vocab), .value = "FILE",
     .verbs = " tokenize ", .help = VOCAB_HELP " Or a byte-level BPE."},
    {.name = "check", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(check), .value = "FILE",
     .default_help = "none", .verbs = " vocab ",
     .help = "Instead of learning a vocabulary, list what is wrong with this one, given the other options."},
    {.name = "vocab-size", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(vocab_size), .value = "N",
     .default_text = "30522", .automatic = true, .min = 200, .max = 1u << 20, .verbs = " build vocab ",
     .help = "Size of a learned vocabulary, in pieces; auto: 12 times the square root of the number of words, from "
             "500 to 30,500."},
    {.name = "algo", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(algo), .default_text = "greedy",
     .choice = algo_choice, .verbs = " build vocab ",
     .help = "Algorithm that learns a vocabulary. greedy: top-down, as in TensorFlow Text; bpe: merges pairs, as "
             "Hugging Face's trainer does."},
    {.name = "kind", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(kind), .default_text = "wordpiece",
     .choices = "wordpiece|bpe-bytes", .verbs = " vocab ",
     .help = "What to learn. bpe-bytes: a byte-level BPE, as ModernBERT's, in a directory for AutoTokenizer."},
    {.name = "vocab-kind", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(kind),
     .default_text = "wordpiece", .choices = "wordpiece|bpe-bytes", .verbs = " build ",
     .help = "Kind of a learned vocabulary. bpe-bytes: a byte-level BPE, as ModernBERT's."},
    {.name = "special-names", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(special_names),
     .default_text = "bert", .choices = "bert|roberta", .verbs = " build vocab ",
     .help = "Names of the special pieces of a learned bpe-bytes: [CLS] and [SEP], or <s> and </s>."},
    {.name = "special-in-text", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(special_in_text),
     .verbs = " build ", .help = "A special token that a text spells is that token, as in AutoTokenizer."},
    {.name = "unused", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(unused), .value = "N",
     .default_text = "0", .max = 10000, .verbs = " build vocab ",
     .help = "Number of [unusedN] entries after [MASK] in a learned vocabulary."},
    {.name = "min-frequency", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(min_frequency), .value = "N",
     .default_text = "2", .min = 2, .verbs = " build vocab ",
     .help = "How often a piece must occur to enter a learned vocabulary."},
    {.name = "limit-alphabet", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(limit_alphabet), .value = "N",
     .default_text = "1000", .min = 1, .max = 1000, .verbs = " build vocab ",
     .help = "Maximum number of distinct characters in a learned vocabulary."},
    {.name = "cased", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(cased),
     .verbs = " build vocab tokenize ", .help = "Keep case; without this, text is lower-cased."},
    {.name = "accents", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(accents), .default_text = "auto",
     .choices = "auto|strip|keep", .verbs = " build vocab tokenize ",
     .help = "Strip or keep accents. auto keeps them with --cased, or if a vocabulary is learned from non-English "
             "text."},
    {.name = "profile", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(profile), .default_text = "hf",
     .choices = "hf|google", .verbs = " build vocab tokenize ",
     .help = "Tokenizer to match exactly. hf: Hugging Face tokenizers; google: tokenization.py."},
    {.name = "seq", .type = OPT_NUMBERS, .scope = SCOPE_IDENTITY, .field = FIELD(seq), .value = "LIST",
     .default_text = "128,512", .min = 16, .max = 8192, .verbs = " build ",
     .help = "Sequence lengths in tokens; all are built in one pass."},
    {.name = "max-predictions", .type = OPT_NUMBERS, .scope = SCOPE_IDENTITY, .field = FIELD(max_predictions),
     .value = "LIST", .min = 1, .max = 8192, .default_help = "mask probability x length, rounded up to a multiple of 4",
     .verbs = " build ", .help = "Maximum number of masked tokens in a sample, one number per length."},
    {.name = "mask-prob", .type = OPT_MILLIONTHS, .scope = SCOPE_IDENTITY, .field = FIELD(mask_prob), .value = "P",
     .default_text = "0.15", .verbs = " build ",
     .help = "Fraction of tokens to predict (80 % become [MASK], 10 % stay, 10 % become random)."},
    {.name = "masking", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(masking), .default_text = "token",
     .choice = masking_choice, .verbs = " build ",
     .help = "Mask single tokens, or all tokens of a word together; each token gets its own 80/10/10 choice."},
    {.name = "pairs", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(pairs), .default_text = "nsp",
     .choice = pairs_choice, .verbs = " build ",
     .help = "How segments are paired. nsp: next sentence; sop: sentence order; none: one segment that fills the "
             "length."},
    {.name = "pack", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(pack), .verbs = " build ",
     .help = "With --pairs none: let segments cross document boundaries, with [SEP] between documents."},
    {.name = "short-seq-prob", .type = OPT_MILLIONTHS, .scope = SCOPE_IDENTITY, .field = FIELD(short_seq_prob),
     .value = "P", .default_text = "0.1", .verbs = " build ",
     .help = "Fraction of documents (with --pairs none: of samples) that get a random shorter length."},
    {.name = "copies", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(copies), .value = "K",
     .default_text = "1", .min = 1, .max = 1000, .verbs = " build ",
     .help = "Number of copies of every training document, each masked and paired differently."},
    {.name = "compat", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(compat), .default_text = "off",
     .choices = "off|google", .verbs = " build ",
     .help = "google: exactly the instances of Google's create_pretraining_data.py, in its order; needs --text, one "
             "--seq, and memory for the whole corpus."},
    {.name = "valid", .type = OPT_MILLIONTHS, .scope = SCOPE_IDENTITY, .field = FIELD(valid), .value = "P",
     .default_text = "0.005", .verbs = " build ",
     .help = "Fraction of documents held out for validation, chosen by a hash of the page id."},
    {.name = "valid-by", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(valid_by), .default_text = "auto",
     .choices = "auto|id|text", .verbs = " build ",
     .help = "What decides whether a document is held out: a hash of its id, or of its text, which also decides where "
             "there is no id; auto: the text where many documents have one id, as the beginnings of the inputs show."},
    {.name = "seed", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(seed), .value = "N",
     .default_text = "12345", .verbs = " build ", .help = "Seed of all random choices."},
    {.name = "shard-bytes", .type = OPT_SIZE, .scope = SCOPE_IDENTITY, .field = FIELD(shard_bytes), .value = "SIZE",
     .default_text = "256M", .min = 65536, .verbs = " build ", .help = "Target size of a shard."},
    {.name = "lang", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(lang), .value = "CODE",
     .default_help = "the dump's; for text and JSON lines, guessed", .verbs = " build vocab extract templates ",
     .help = "Language of the inputs (section names, sentence rules, accents): a Wikipedia or ISO 639 code. An input "
             "written as CODE=FILE has a language of its own."},
    {.name = "variant", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(variant), .value = "CODE",
     .default_help = "the wiki's own", .verbs = " build vocab extract ",
     .help = "Spelling to take where a page offers several, as in -{zh-hans:…; zh-hant:…}-; for example zh-tw, sr-el."},
    {.name = "namespaces", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(namespaces), .value = "LIST",
     .default_text = "0", .verbs = " build vocab extract ",
     .help = "Namespaces of a wiki whose pages are documents, by number or name: 0 (articles), 104, Appendix."},
    {.name = "keep", .type = OPT_SET, .scope = SCOPE_IDENTITY, .field = FIELD(keep), .value = "LIST",
     .default_text = "prose-lists", .choice = keep_choice, .verbs = " build vocab ",
     .help = "What to keep besides paragraphs (prose-lists: only list items that are sentences)."},
    {.name = "keep", .type = OPT_SET, .scope = SCOPE_PROCESS, .field = FIELD(keep), .value = "LIST",
     .default_text = "headings,lists,pre", .choice = keep_choice, .verbs = " extract ",
     .help = "What to keep besides paragraphs (prose-lists: only list items that are sentences)."},
    {.name = "drop", .type = OPT_SET, .scope = SCOPE_IDENTITY, .field = FIELD(drop), .value = "LIST",
     .default_text = "disambiguation", .choice = drop_choice, .verbs = " build vocab ",
     .help = "Kinds of pages to leave out."},
    {.name = "drop", .type = OPT_SET, .scope = SCOPE_PROCESS, .field = FIELD(drop), .value = "LIST",
     .default_text = "none", .choice = drop_choice, .verbs = " extract ",
     .help = "Kinds of pages to leave out."},
    {.name = "min-words", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(min_words), .value = "N",
     .default_text = "0", .max = 1ull << 40, .verbs = " build vocab extract ",
     .help = "Leave out documents of fewer than N words; each CJK ideograph or kana counts as a word."},
    {.name = "max-words", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(max_words), .value = "N",
     .default_help = "no bound", .min = 1, .max = 1ull << 40, .verbs = " build vocab extract ",
     .help = "Leave out documents of more than N words."},
    {.name = "only-lang", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(only_lang), .value = "LIST",
     .default_help = "any", .verbs = " build vocab extract ",
     .help = "Leave out documents in other languages than these codes, as in af,nl. Each document's language is "
             "guessed from its text; if none is clear, it is that of its input, where that is typed or stated."},
    {.name = "filter", .type = OPT_TEXT, .scope = SCOPE_IDENTITY, .field = FIELD(filter), .value = "NAME",
     .default_help = "none", .verbs = " build vocab extract ",
     .help = "Leave out documents of low quality. gopher: by the rules of Rae et al. (2021) for English, whose "
             "thresholds may be changed, as in gopher,min-words=20,stop-words=0 (0: without this rule)."},
    {.name = "exclude", .type = OPT_PATHS, .each = true, .scope = SCOPE_CONTENT, .field = FIELD(exclude),
     .value = "FILE", .default_help = "none", .verbs = " build vocab extract ",
     .help = "Leave out documents that share 13 words in a row with a text of this file, of text or JSON lines, such "
             "as a test set; may be repeated."},
    {.name = "duplicates", .type = OPT_CHOICE, .scope = SCOPE_IDENTITY, .field = FIELD(duplicates),
     .default_text = "keep", .choices = "keep|drop", .verbs = " build extract ",
     .help = "Documents with the same text as an earlier one, apart from white space. keep: only count them; drop: "
             "leave them out, which reads the inputs twice."},
    {.name = "near-duplicates", .type = OPT_MILLIONTHS, .scope = SCOPE_IDENTITY, .field = FIELD(near_duplicates),
     .value = "P", .default_help = "kept", .verbs = " build extract ",
     .help = "Leave out documents of which a fraction of about P or more (0.1 to 1; 0.8 is usual) is in an earlier "
             "document that was kept: the Jaccard similarity of their sequences of five words. Reads the inputs twice."},
    {.name = "templates", .type = OPT_TEXT, .scope = SCOPE_CONTENT, .field = FIELD(templates),
     .value = "auto|none|FILE", .default_text = "auto", .verbs = " build vocab extract ",
     .help = "How wiki templates are rendered. none: by the built-in table; auto: also by the dump's own template "
             "pages, read in an extra pass; FILE: by the table and FILE, with a line \"name = $1 ($2)\" for each, or "
             "\"name =\" to drop it."},
    {.name = "limit", .type = OPT_COUNT, .scope = SCOPE_IDENTITY, .field = FIELD(limit), .value = "N",
     .default_help = "no limit", .min = 1, .verbs = " build vocab extract ",
     .help = "Stop after N pages of the inputs, counting those that are left out."},
    {.name = "salvage", .type = OPT_FLAG, .scope = SCOPE_IDENTITY, .field = FIELD(salvage),
     .verbs = " build vocab extract templates ",
     .help = "Skip and count damaged parts of compressed files instead of stopping there."},
    {.name = "max-ratio", .type = OPT_COUNT, .scope = SCOPE_RUN, .field = FIELD(max_ratio), .value = "N",
     .default_text = "10000", .min = 1, .max = 1000000000, .verbs = " build extract templates ",
     .help = "Refuse files in which about 1 MiB decompresses to over 1 GB and more than N times its size (zip bombs)."},
    {.name = "threads", .letter = 'j', .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(threads), .value = "N",
     .min = 1, .max = 1024, .default_help = "all cores", .verbs = " build vocab extract tokenize export templates ",
     .help = "Number of compute threads; the output does not depend on it."},
    {.name = "peer-timeout", .type = OPT_DURATION, .scope = SCOPE_RUN, .field = FIELD(peer_timeout), .value = "TIME",
     .default_text = "10m", .verbs = " build ",
     .help = "Under mpirun or srun: stop with exit code 9 if a process makes no progress for this long (0s: never). "
             "Finished work is kept."},
    {.name = "memory", .type = OPT_SIZE, .scope = SCOPE_PROCESS, .field = FIELD(memory), .value = "SIZE",
     .default_help = "1G, or 64M per thread if that is more", .min = 1, .verbs = " build vocab extract templates ",
     .help = "Upper bound on resident memory; the output does not depend on it."},
    {.name = "fresh", .type = OPT_FLAG, .scope = SCOPE_RUN, .field = FIELD(fresh), .verbs = " build ",
     .help = "Start over, in DIR/.fresh; an earlier build in DIR is replaced once the new one is complete."},
    {.name = "dry-run", .letter = 'n', .type = OPT_FLAG, .scope = SCOPE_RUN, .field = FIELD(dry_run),
     .verbs = " build ", .help = "Print the plan and write nothing."},
    {.name = "format", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(format), .default_text = "jsonl",
     .choices = "jsonl|sentences", .verbs = " extract ",
     .help = "jsonl: one object per page; sentences: one per line, with an empty line between documents."},
    {.name = "format", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(format), .default_text = "ids",
     .choices = "ids|pieces|json", .verbs = " tokenize ", .help = "Form of the output: token ids, pieces, or JSON."},
    {.name = "format", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(format), .default_text = "jsonl",
     .choice = export_format_choice, .verbs = " export ",
     .help = "jsonl: one object per sample, with Google's keys; tfrecord: as Google's script; mds: a folder for "
             "MosaicML Streaming; nvidia-hdf5: for DeepLearningExamples, bing_bert; parquet: use python -m dsshards "
             "export instead."},
    {.name = "files", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(files), .value = "N", .min = 1,
     .max = 100000, .default_help = "1; for mds, files of 64 MB", .verbs = " export ",
     .help = "Number of output files, written in parallel; OUT.jsonl becomes OUT-00000-of-00004.jsonl."},
    {.name = "files", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(files), .value = "N", .min = 1,
     .max = 256, .default_help = "1", .verbs = " extract ",
     .help = "Number of output files of about equal length; OUT.jsonl becomes OUT-00000-of-00004.jsonl."},
    {.name = "card", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(card), .verbs = " report ",
     .help = "Write a data card for a hub, by default DIR/README.md, which is no part of the dataset."},
    {.name = "epoch", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(epoch), .value = "E",
     .default_help = "the order of the shards", .verbs = " export ",
     .help = "Write the samples in dstrain's order, and with its masks, of epoch E (counted from 0)."},
    {.name = "seed", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(seed), .value = "N",
     .default_text = "42", .max = UINT32_MAX, .verbs = " export ",
     .help = "With --epoch or fresh masks: the --seed of dstrain."},
    {.name = "masks", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(masks), .default_text = "auto",
     .choices = "auto|stored|fresh|none", .verbs = " export ",
     .help = "auto: fresh masks after epoch 0, else the stored ones; none for mds, whose trainers mask by themselves."},
    {.name = "explain", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(explain), .value = "TITLE",
     .default_help = "none", .verbs = " extract ",
     .help = "Show what is kept and left out of one page of a dump, and why."},
    {.name = "special", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(special), .verbs = " tokenize ",
     .help = "Add what surrounds a text for a model: [CLS] before and [SEP] after each line."},
    {.name = "sample", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(sample), .value = "I",
     .verbs = " show ", .default_help = "none",
     .help = "Print sample I as a table: piece, segment, mask and label of each token."},
    {.name = "seq", .type = OPT_COUNT, .scope = SCOPE_PROCESS, .field = FIELD(seq_one), .value = "N", .min = 16,
     .max = 8192, .default_help = "the shortest", .verbs = " show export ", .help = "Sequence length of the samples."},
    {.name = "split", .type = OPT_CHOICE, .scope = SCOPE_PROCESS, .field = FIELD(split), .default_text = "train",
     .choice = split_choice, .verbs = " show export ", .help = "Training or held-out (valid) samples."},
    {.name = "sha256", .type = OPT_TEXT, .scope = SCOPE_PROCESS, .field = FIELD(sha256), .value = "FILE",
     .verbs = " verify ", .default_help = "none",
     .help = "Check against the SHA-256 sums in FILE; if FILE does not exist, write them to it."},
    {.name = "json", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(json),
     .verbs = " build vocab show verify doctor ", .help = "Print facts as one JSON object on standard output."},
    {.name = "json", .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(json), .verbs = " extract ",
     .help = "Print facts as one JSON object on standard error; the text has standard output."},
    {.name = "quiet", .letter = 'q', .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(quiet),
     .help = "Print only warnings and errors."},
    {.name = "verbose", .letter = 'v', .type = OPT_FLAG, .scope = SCOPE_PROCESS, .field = FIELD(verbose),
     .help = "Print more details."},
    {.name = NULL},
};
// clang-format on

static const struct opt_verb verbs[] = {
    {"build", "[FILE...]",
     "Turn dumps, text or JSON lines into a dataset of masked-LM shards; repeat the command to resume.",
     "dsdata build enwiki-latest-pages-articles.xml.bz2", dsdata_build, 0, SIZE_MAX, NULL},
    {"vocab", "[FILE...]", "Learn a WordPiece vocabulary from the inputs.",
     "dsdata vocab fiwiki.xml.bz2 --vocab-size 30522 --out vocab.txt", dsdata_vocab, 0, SIZE_MAX, NULL},
    {"templates", "[FILE...]", "Print how a dump's own templates are rendered, in the form that --templates reads.",
     "dsdata templates fiwiki.xml.bz2 --out fiwiki.templates", dsdata_templates, 0, SIZE_MAX, NULL},
    {"extract", "[FILE...]", "Print the plain text of the inputs.", "dsdata extract enwiki.xml.bz2 --format sentences",
     dsdata_extract, 0, SIZE_MAX, NULL},
    {"tokenize", "[FILE...]", "Split each line of text into pieces of a vocabulary.",
     "echo \"Hello world\" | dsdata tokenize --vocab vocab.txt", dsdata_tokenize, 0, SIZE_MAX, NULL},
    {"show", "DIR|SHARD [DIR]",
     "Print facts about a dataset or a shard, one of its samples, or the differences between two datasets.",
     "dsdata show enwiki --sample 0", dsdata_show, 1, 2, NULL},
    {"export", "DIR", "Write the samples in a format that other trainers read.",
     "dsdata export enwiki --seq 128 --split valid --out valid.jsonl", dsdata_export, 1, 1, NULL},
    {"verify", "DIR", "Check every byte of a dataset and report what is damaged.", "dsdata verify enwiki",
     dsdata_verify, 1, 1, NULL},
    {"doctor", "", "Show this machine's processor, memory and disk, and the versions of the libraries.",
     "dsdata doctor", dsdata_doctor, 0, 0, NULL},
    {"demo", "[FILE|DIR]",
     "In two minutes: build a dataset from simple stories or from this text, train a small BERT, fill in words, write "
     "a "
     "page.",
     "dsdata demo", dsdata_demo, 0, 1, NULL},
    {"report", "DIR", "Write an HTML page about a dataset: figures, what was left out, samples.",
     "dsdata report enwiki", dsdata_report, 1, 1, NULL},
    {.name = NULL},
};

// clang-format off
static const struct opt_foreign foreign[] = {
    {"output_dir", "--out"},           {"output_file", "--out"},
    {"output", "--out"},               {"input_file", "--text"},
    {"input", "--wiki"},               {"vocab_file", "--vocab"},
    {"max_seq_length", "--seq"},       {"seq_length", "--seq"},
    {"max_predictions_per_seq", "--max-predictions"},
    {"masked_lm_prob", "--mask-prob"}, {"dupe_factor", "--copies"},
    {"random_seed", "--seed"},         {"do_lower_case", "--cased (its absence means lower case)"},
    {"processes", "--threads"},        {"workers", "--threads"},
    {"num_workers", "--threads"},      {"jobs", "--threads"},
    {"short_seq_prob", "--short-seq-prob"},
    {"do_whole_word_mask", "--masking whole-word"},
    {"bytes", "--shard-bytes"},        {"language", "--lang"},
    {"json_keys", "--text-key"},       {"text_column", "--text-key"},
    {"text_column_name", "--text-key"}, {"deduplicate", "--duplicates drop"},
    {"dedup", "--duplicates drop"},
    {"out_dir", "--out"},              {"output_path", "--out"},
    {"train_file", "--text"},          {"corpus", "--text"},
    {"corpus_files", "--text"},        {"input_dir", "--wiki, --text or --jsonl"},
    {"tokenizer", "--vocab"},          {"tokenizer_name", "--vocab"},
    {"max_length", "--seq"},           {"seq_len", "--seq"},
    {"sequence_length", "--seq"},      {"block_size", "--seq"},
    {"mlm_probability", "--mask-prob"}, {"masked_lm_probability", "--mask-prob"},
    {"whole_word_mask", "--masking whole-word"},
    {"validation_split_percentage", "--valid, a fraction"},
    {"test_size", "--valid"},          {"n_jobs", "--threads"},
    {"num_proc", "--threads"},         {"nproc", "--threads"},
    {"num_threads", "--threads"},      {"shard_size", "--shard-bytes"},
    {"max_shard_size", "--shard-bytes"}, {"num_shards", "--shard-bytes"},
    {"overwrite", "--fresh (a file: --force)"},
    {"overwrite_output_dir", "--fresh"}, {"restart", "--fresh"},
    {"resume", "none: the same command again continues"},
    {"continue", "none: the same command again continues"},
    {"lower_case", "--cased (its absence means lower case)"},
    {"lowercase", "--cased (its absence means lower case)"},
    {"uncased", "--cased (its absence means lower case)"},
    {"strip_accents", "--accents strip"}, {"no_templates", "--templates none"},
    {"lists", "--keep lists"},         {"sections", "--keep headings"},
    {"filter_disambig_pages", "--drop disambiguation"},
    {"min_text_length", "--min-words"}, {NULL, NULL},
};

#define DEDUP_VERB "extract --duplicates drop, and --near-duplicates 0.8; build has them too"
static const struct opt_foreign foreign_verbs[] = {
    {"info", "show"},                  {"stats", "show"},
    {"inspect", "show"},               {"head", "show DIR --sample 0"},
    {"plan", "build --dry-run"},       {"create", "build"},
    {"prepare", "build"},              {"preprocess", "build"},
    {"check", "verify"},               {"validate", "verify"},
    {"convert", "export"},             {"learn", "vocab"},
    {"encode", "tokenize"},            {"merge", "build FILE FILE..., or for datasets dstrain --shards A --shards B"},
    {"train", "dstrain --shards DIR"}, {"dedup", DEDUP_VERB},
    {"dedupe", DEDUP_VERB},            {"deduplicate", DEDUP_VERB},
    {"clean", "extract --filter gopher; others: --min-words, --only-lang, --duplicates drop, --exclude FILE"},
    {"filter", "extract --filter gopher; others: --min-words, --max-words, --only-lang, --exclude FILE"},
    {"decontaminate", "extract --exclude FILE"},
    {"split", "build, whose --valid holds documents out; or extract --files N --out FILE"},
    {"shuffle", "build, which shuffles all samples"},
    {"sample", "show DIR --sample 0"}, {"text", "extract"},
    {"diff", "show DIR DIR"},          {"compare", "show DIR DIR"},
    {"card", "report DIR --card"},     {"explain", "extract FILE --explain TITLE"},
    {"unpack", "extract"},             {"download", "none (wget -c ADDRESS fetches a dump)"},
    {NULL, NULL},
};
// clang-format on

static const struct opt_note files[] = {
    {"DIR/manifest.json", "What a dataset is: sources, options, counts, hashes of its shards."},
    {"DIR/build.json", "How it was built: command line, host, time, versions."},
    {"DIR/vocab.txt", "Its vocabulary, one piece per line."},
    {"DIR/seq128/train-00000-of-00001.dss", "Its shards, in a folder for each sequence length."},
    {"DIR/report.html", "What dsdata report writes."},
    {"DIR/README.md", "What dsdata report --card writes."},
    {.name = NULL},
};

static const struct opt_note environment[] = {
    {"DSDATA_CPU", "base, avx2 or avx512: use no instructions above that level; the output does not depend on it."},
    {.name = NULL},
};

static const char *version_text(void)
{
    static char text[512];
    snprintf(text, sizeof text,
             "dsdata %s\nbzip2 %s\nzlib %s\nzstd %s\nliblzma %s\n%s\nutf8proc %s\njansson %s\nxxHash %u.%u.%u\n",
             DS_VERSION, BZ2_bzlibVersion(), zlibVersion(), ZSTD_versionString(), lzma_version_string(),
             XML_ExpatVersion(), utf8proc_version(), jansson_version_str(), XXH_versionNumber() / 10000,
             XXH_versionNumber() / 100 % 100, XXH_versionNumber() % 100);
    return text;
}

struct opt_program dsdata_program(void)
{
    return (struct opt_program){
        .name = "dsdata",
        .summary = "Turns Wikipedia dumps and other text into masked-LM shards for BERT.",
        .verbs = verbs,
        .rows = rows,
        .foreign = foreign,
        .foreign_verbs = foreign_verbs,
        .version = version_text(),
        .files = files,
        .environment = environment,
        .see_also = "dstrain(1), bzip2(1), mpirun(1)",
    };
}

char *changed_command(const struct dsdata_settings *settings, const struct option_change *changes, size_t count,
                      bool fresh)
{
    const char *verb = settings->result->verb->name;
    struct buf leave = {0};
    buf_add_text(&leave, " fresh ");
    for (size_t i = 0; i < count; i++)
        buf_addf(&leave, "%s ", changes[i].name);
    struct buf command = settings_command(settings, verb, buf_text(&leave));
    for (size_t i = 0; i < count; i++)
        command_option(&command, changes[i].name, changes[i].value);
    if ((fresh || settings->fresh) && strcmp(verb, "build") == 0)
        command_option(&command, "fresh", NULL);
    buf_release(&leave);
    buf_text(&command);
    return command.data;
}
