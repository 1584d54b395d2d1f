/* Character data and tags of XML as MediaWiki writes it: the fast path of xml.c. It accepts a subset of XML and reports
 * anything else. What it accepts, expat accepts with the same result.
 *
 *     characters   UTF-8 without control characters but tab and line end, the five named references; '>' as &gt; only
 *     tags         <name attribute="value" … />: one blank before an attribute, names of ASCII letters and digits, few
 *                  attributes, none of them twice; </name>
 *
 * No comments, CDATA, processing instructions or declarations. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

#define XML_SCAN_ROOM 16u /* bytes that may be written after the characters */

/* Reads the character data that begins at *at, up to a '<'. The text, which is no longer than the input, is written to
 * `out`, where XML_SCAN_ROOM further bytes may be overwritten. Returns the size of the text and moves *at to the '<',
 * or to the first byte that is not supported. */
size_t xml_scan_characters(struct str xml, size_t *at, char *out);

/* The size of the reference at the start of `text`, and its character; 0 if it is not one of the five of XML. */
size_t xml_reference(struct str text, char *character);

struct xml_tag {
    struct str name;
    bool closing, empty; /* </name>, <name /> */
};

/* Reads the tag that begins at *at and moves *at past it; false if it is not supported. */
bool xml_scan_tag(struct str xml, size_t *at, struct xml_tag *tag);
