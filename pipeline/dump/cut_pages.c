/* A record is <page>…</page>. Inside a page only '<' matters, and memchr finds it. The tags are known, so of an
 * incomplete tag only its number and length are kept, and its text is written once it proves to be <page>. */
#include "pipeline/dump/cutter.h"

#include <string.h>

enum tag { TAG_PAGE, TAG_PAGE_END, TAG_WIKI, TAG_WIKI_END, TAG_NONE };
static const char *const tags[] = {"<page>", "</page>", "<mediawiki", "</mediawiki>"};

/* Advances the tag matcher by one byte. *match is 0, or 16 · tag + bytes matched, for the first tag with that
 * beginning. */
static enum tag tag_step(unsigned *match, char byte)
{
    unsigned like = *match / 16, seen = *match % 16;
    *match = byte == '<' ? 1 : 0;
    if (byte == '<' || seen == 0)
        return TAG_NONE;
    for (unsigned tag = like; tag < TAG_NONE; tag++) {
        if (strncmp(tags[tag], tags[like], seen) != 0 || tags[tag][seen] != byte)
            continue;
        if (tags[tag][seen + 1] == '\0')
            return (enum tag)tag;
        *match = 16 * tag + seen + 1;
        break;
    }
    return TAG_NONE;
}

/* Of the bytes after a '<': it begins none of the tags. */
static bool is_other_tag(struct str text)
{
    return text.size > 2 && text.data[1] != 'p' && text.data[1] != 'm' &&
           (text.data[1] != '/' || (text.data[2] != 'p' && text.data[2] != 'm'));
}

static size_t feed_wiki(struct cutter *cutter, struct str text, struct group *out, bool *full)
{
    size_t at = 0, from = 0; /* text[from, at) belongs to the open record and is not added yet */
    while (at < text.size) {
        if (cutter->match == 0) {
            const char *tag = memchr(text.data + at, '<', text.size - at);
            at = tag ? (size_t)(tag - text.data) : text.size;
            if (!tag)
                break;
            if (is_other_tag(str_range(tag, text.data + text.size))) {
                at++;
                continue;
            }
        }
        char byte = text.data[at++];
        if (byte == '<')
            cutter->tag_window = cutter->window;
        enum tag tag = tag_step(&cutter->match, byte);
        if (tag == TAG_NONE)
            continue;
        uint32_t window = cutter->tag_window;
        if (cutter->guessed && tag != TAG_WIKI) {
            cutter->guessed = false;
            cutter->doubt = tag == TAG_PAGE && window != cutter->window;
        }
        if (cutter->open && tag != TAG_WIKI) { /* </page>, or a tag that cannot be inside a page */
            record_add(cutter, str_range(text.data + from, text.data + at));
            record_end(cutter, tag == TAG_PAGE_END ? 0 : strlen(tags[tag]));
            window = cutter->window; /* until now it was the window of another group */
        }
        if (tag == TAG_WIKI || tag == TAG_WIKI_END) {
            cutter->closed = tag == TAG_WIKI_END;
            cutter->closed_in = cutter->tag_window;
        }
        if (tag == TAG_PAGE) {
            from = at;
            *full = record_begin(cutter, window, at - strlen(tags[TAG_PAGE]), out);
            record_add(cutter, str_of(tags[TAG_PAGE]));
            if (*full)
                return at;
        }
    }
    if (cutter->open)
        record_add(cutter, str_range(text.data + from, text.data + at));
    return at;
}

/* A tag that began here may become a <page> of the window where it began. */
static bool inside_tag(const struct cutter *cutter)
{
    return cutter->match > 0;
}

static const char *missing_end(const struct cutter *cutter)
{
    return cutter->open ? "inside a <page>" : cutter->closed ? NULL : "without </mediawiki>";
}

static bool is_match(const struct cutter *cutter, const struct dump_state *state)
{
    (void)cutter;
    if (state->match == 0)
        return true;
    unsigned tag = state->match / 16, seen = state->match % 16;
    return tag < TAG_NONE && seen >= 1 && seen < strlen(tags[tag]);
}

const struct record_cut cut_pages = {
    .marked = true, .feed = feed_wiki, .half = inside_tag, .missing_end = missing_end, .is_match = is_match};
