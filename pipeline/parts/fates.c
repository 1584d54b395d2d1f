#include "pipeline/parts/fates.h"

#include <assert.h>

static const struct {
    const char *name, *words;
} fates[] = {
    [FATE_KEPT] = {"kept", "it is in the text"},
    [FATE_MARKUP] = {"markup", "brackets, quotes and tags around text, targets of links, line ends"},
    [FATE_TEMPLATE] = {"template", "templates without a rendering, and arguments that do not show"},
    [FATE_TABLE] = {"table", "tables"},
    [FATE_REFERENCE] = {"reference", "footnotes"},
    [FATE_COMMENT] = {"comment", "comments"},
    [FATE_FILE] = {"file", "pictures and other files"},
    [FATE_CATEGORY] = {"category", "categories"},
    [FATE_INTERWIKI] = {"interwiki", "links to other languages"},
    [FATE_MATH] = {"math", "formulas"},
    [FATE_CODE] = {"code", "program code"},
    [FATE_GALLERY] = {"gallery", "galleries, image maps, timelines"},
    [FATE_EXTENSION] = {"extension", "tags of other extensions"},
    [FATE_DELETED] = {"deleted", "struck out"},
    [FATE_INCLUDE] = {"include", "for pages that include this one"},
    [FATE_URL] = {"url", "addresses"},
    [FATE_MAGIC] = {"magic", "magic words, signatures"},
    [FATE_HEADING] = {"heading", "headings"},
    [FATE_SECTION] = {"section", "sections that hold no text"},
    [FATE_LIST] = {"list", "list items that are not kept"},
    [FATE_PRE] = {"pre", "preformatted text"},
    [FATE_VARIANT] = {"variant", "spellings that do not show"},
    [FATE_CONTROL] = {"control", "control characters"},
    [FATE_LEAK] = {"leak", "tags that are none: of unknown names, or without their counterpart"},
    [FATE_MENDED] = {"mended", "blanks, commas and empty brackets around a gap"},
};
_Static_assert(sizeof fates / sizeof *fates == FATES, "a row for every fate");

const char *fate_name(enum fate fate)
{
    assert(fate < FATES);
    return fates[fate].name;
}

const char *fate_words(enum fate fate)
{
    assert(fate < FATES);
    return fates[fate].words;
}
