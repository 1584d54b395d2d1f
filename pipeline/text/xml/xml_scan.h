/* Character data and tags of XML as MediaWiki writes it: the short road of xml.c. It knows a part of XML only, and says
 * so where anything is not of that part; what it takes, expat takes too, and gives the same.
 *
 *     characters   UTF-8 without control characters but tab and line end, the five named references; '>' as &gt; only
 *     tags         <name attribute="value" … />: one blank before an attribute, names of ASCII letters and digits, few
 *                  attributes, none of them twice; </name>
 *
 * No comments, CDATA, processing instructions or declarations. */
#ifndef PIPELINE_TEXT_XML_XML_SCAN_H
#define PIPELINE_TEXT_XML_XML_SCAN_H

#include "base/str.h"

#include <stdbool.h>

#define XML_SCAN_ROOM 16u /* bytes that may be written after the characters */

/* Goes over the character data that begins at *at, up to a '<': its text, which is no longer than what was read, goes
 * to
 * `out`, where XML_SCAN_ROOM bytes more may be overwritten. Returns the size of the text and moves *at to the '<', or
 * to the first byte that is none of ours. */
size_t xml_scan_characters(struct str xml, size_t *at, char *out);

struct xml_tag {
    struct str name;
    bool closing, empty; /* </name>, <name /> */
};

/* Reads the tag that begins at *at and moves *at after it; false where none of ours does. */
bool xml_scan_tag(struct str xml, size_t *at, struct xml_tag *tag);

#endif
