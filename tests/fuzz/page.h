/* A page of `report`, as an XML parser reads it: well-formed, of UTF-8, not too long, with no element or attribute but
 * the pages' own, and links into itself alone. */
#include "base/str.h"

#include <assert.h>
#include <expat.h>
#include <stdio.h>

#define HTML_BYTES_MAX 2000000u

/* What a page may consist of: whatever else appears was put there by a string. */
static const char elements[] = " html head meta title style body header h1 h2 h3 p bdi dl dt dd div nav a details "
                               "summary table caption thead tbody tr th td code main section ol li b i span figure "
                               "figcaption svg rect path ul ruby rt footer input label ";
static const char attributes[] = " xmlns lang xml:lang charset http-equiv content name class id href scope title style "
                                 "viewBox preserveAspectRatio role aria-label aria-labelledby aria-hidden x y width "
                                 "height dir d type for checked ";

static void check_known(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", name);
    assert(strstr(list, word));
}

static void on_element(void *context, const char *name, const char **attribute)
{
    (void)context;
    check_known(elements, name);
    for (; *attribute; attribute += 2) {
        check_known(attributes, attribute[0]);
        assert(strcmp(attribute[0], "href") != 0 || attribute[1][0] == '#');
        assert(strcmp(attribute[0], "style") != 0 || strncmp(attribute[1], "width:", 6) == 0);
    }
}

static void check_page(struct str page)
{
    XML_Parser parser = XML_ParserCreate("UTF-8");
    XML_SetStartElementHandler(parser, on_element);
    const enum XML_Status status = XML_Parse(parser, page.data, (int)page.size, 1);
    assert(status == XML_STATUS_OK);
    XML_ParserFree(parser);
    assert(page.size <= HTML_BYTES_MAX && utf8_valid(page));
}
