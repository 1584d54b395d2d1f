/* dstrain predict of a model that gives tags to words (predicting.h). */
#include <inttypes.h>

#include "trainer/tune/corpus.h"
#include "trainer/tune/span_scores.h"
#include "trainer/verbs/predicting.h"

#define SENTENCES 512u /* of a window */

/* A line of the file, and the word that it stands for. */
struct kept_line {
    size_t from, size;
    size_t word; /* SIZE_MAX: none; of JSON lines the first of the sentence */
};

struct tag_window {
    struct tagged sentence;
    struct corpus corpus;
    struct buf texts;
    struct kept_line *lines;
    size_t line_count, line_room;
    uint32_t *classes; /* [corpus.words] */
    /* Of all windows, while every word has a tag that the model knows: */
    bool unscored;
    uint32_t *found, *truth;
    size_t scored, room;
    size_t *ends, sentences, end_room;
};

static void keep_lines(struct tag_window *w)
{
    size_t word = w->corpus.words - w->sentence.word_count;
    for (size_t i = 0; i < w->sentence.line_count; i++) {
        const struct tagged_line *line = &w->sentence.lines[i];
        w->lines = mem_room(w->lines, w->line_count + 1, &w->line_room, sizeof *w->lines);
        w->lines[w->line_count++] =
            (struct kept_line){w->texts.size, line->text.size, line->word || w->sentence.json ? word : SIZE_MAX};
        buf_add_str(&w->texts, line->text);
        word += line->word;
    }
}

static int read_sentences(struct predicting *p, struct tag_window *w, struct error *err)
{
    int more = 1;
    corpus_reset(&w->corpus);
    w->corpus.samples.head = HEAD_TOKEN;
    buf_reset(&w->texts);
    w->line_count = 0;
    while (w->corpus.sentences < SENTENCES && w->line_count < WINDOW * 16 &&
           (more = tagged_next(&w->sentence, err)) > 0) {
        corpus_add(&w->corpus, &w->sentence, &p->reading.text, p->cutter.length);
        keep_lines(w);
    }
    return more < 0 ? -1 : w->line_count > 0;
}

/* Each word's class; one without a piece has the class O, or the first one. */
static void take_classes(const struct predicting *p, struct tag_window *w)
{
    const struct corpus *c = &w->corpus;
    uint32_t none = 0;
    for (uint32_t i = 0; i < p->outputs; i++)
        none = strcmp(p->names.texts[i], "O") == 0 ? i : none;
    w->classes = mem_grow(w->classes, c->words + 1, sizeof *w->classes);
    for (size_t i = 0; i < c->words; i++)
        w->classes[i] = none;
    for (size_t i = 0; i < c->samples.mark_count; i++)
        w->classes[c->word_of[i]] = class_of(p->logits + i * p->outputs, p->outputs);
}

static void keep_tags(const struct predicting *p, struct tag_window *w)
{
    const struct corpus *c = &w->corpus;
    for (size_t s = 0, at = 0; s < c->sentences && !w->unscored; s++) {
        for (; at < c->samples.mark_count && c->word_of[at] < c->ends[s]; at++) {
            const double truth = predicting_label(p, str_of(corpus_tag(c, c->word_of[at])));
            if (w->scored == w->room) {
                w->room = 2 * w->room + WINDOW;
                w->found = mem_grow(w->found, w->room, sizeof *w->found);
                w->truth = mem_grow(w->truth, w->room, sizeof *w->truth);
            }
            w->unscored |= isnan(truth);
            w->truth[w->scored] = isnan(truth) ? 0 : (uint32_t)truth;
            w->found[w->scored++] = (uint32_t)p->names.rank[w->classes[c->word_of[at]]];
        }
        w->ends = mem_room(w->ends, w->sentences + 1, &w->end_room, sizeof *w->ends);
        w->ends[w->sentences++] = w->scored;
    }
}

static void add_tagged_line(struct predicting *p, const struct tag_window *w, const struct kept_line *line)
{
    struct str text = {w->texts.data + line->from, line->size};
    if (!w->sentence.json || line->word == SIZE_MAX) {
        buf_add_str(&p->out, text);
        if (line->word != SIZE_MAX)
            buf_addf(&p->out, "%c%s", memchr(text.data, '\t', text.size) ? '\t' : ' ',
                     p->names.texts[w->classes[line->word]]);
        buf_add_text(&p->out, w->sentence.end);
        return;
    }
    const size_t next = line + 1 < w->lines + w->line_count ? line[1].word : w->corpus.words;
    text = predicting_opened(text);
    buf_add_str(&p->out, text);
    buf_add_text(&p->out, ",\"prediction\":[");
    for (size_t i = line->word; i < next; i++) {
        buf_add_text(&p->out, i > line->word ? "," : "");
        buf_add_json(&p->out, str_of(p->names.texts[w->classes[i]]));
    }
    buf_add_text(&p->out, "]}");
    buf_add_text(&p->out, w->sentence.end);
}

static int tag_window(struct predicting *p, struct tag_window *w, struct error *err)
{
    if (w->corpus.samples.count > 0)
        TRY(predicting_compute(p, &w->corpus.samples, err));
    take_classes(p, w);
    keep_tags(p, w);
    for (size_t i = 0; i < w->line_count; i++)
        add_tagged_line(p, w, &w->lines[i]);
    p->rows += w->corpus.words;
    if (progress_due(&p->progress))
        progress_show(&p->progress, -1, "%" PRIu64 " words", p->rows);
    return predicting_write(p, err);
}

static json_t *scores_of_tags(const struct predicting *p, const struct tag_window *w)
{
    const char **found = mem_array(2 * w->scored + 1, sizeof *found), **truth = found + w->scored;
    for (size_t i = 0; i < w->scored; i++) {
        found[i] = p->names.names[w->found[i]];
        truth[i] = p->names.names[w->truth[i]];
    }
    json_t *scores =
        span_scores(found, truth, w->scored, w->ends, w->sentences, span_tags(p->names.names, p->names.count));
    json_object_set_new(scores, "dev", json_integer((json_int_t)w->scored));
    json_object_set_new(scores, "sentences", json_integer((json_int_t)w->sentences));
    mem_free(found);
    return scores;
}

static int predict_sentences(struct predicting *p, struct tag_window *w, struct error *err)
{
    int more;
    TRY(tagged_open(&w->sentence, p->file, predicting_column(p, p->settings->column, "column"),
                    p->settings->column != NULL, err));
    while ((more = read_sentences(p, w, err)) > 0)
        TRY(tag_window(p, w, err));
    return more;
}

int predict_tags(struct predicting *p, json_t **scores, struct error *err)
{
    struct tag_window w = {0};
    const int result = predict_sentences(p, &w, err);
    *scores = result == 0 && !w.unscored && w.scored > 0 ? scores_of_tags(p, &w) : NULL;
    tagged_close(&w.sentence);
    corpus_release(&w.corpus);
    buf_release(&w.texts);
    mem_free(w.lines);
    mem_free(w.classes);
    mem_free(w.found);
    mem_free(w.truth);
    mem_free(w.ends);
    return result;
}
