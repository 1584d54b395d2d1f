/* <mediawiki xml:lang="…"> <siteinfo> <sitename/> <dbname/> <case/> <namespaces> <namespace key="0">… Elements are
 * recognised by name, wherever they are in the head: their names are unique, and schema versions have moved them. The
 * document is incomplete here, so the parser is never told that it has ended. */
#include "pipeline/dump/siteinfo.h"

#include <assert.h>
#include <expat.h>
#include <limits.h>
#include <stdlib.h>

#define NAMESPACES_MAX 4096

struct reader {
    XML_Parser parser;
    struct siteinfo *info;
    struct arena *arena;
    struct buf text; /* of the open element */
    int32_t key;     /* of the open namespace */
    size_t capacity;
    bool doctype;
};

static const char *attribute(const XML_Char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return "";
}

static void XMLCALL element_begin(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = context;
    buf_reset(&reader->text);
    if (strcmp(name, "mediawiki") == 0) {
        reader->info->language = arena_copy(reader->arena, str_of(attribute(attributes, "xml:lang")));
    } else if (strcmp(name, "namespace") == 0) {
        long key = strtol(attribute(attributes, "key"), NULL, 10);
        reader->key = key < INT32_MIN || key > INT32_MAX ? INT32_MAX : (int32_t)key;
    }
}

static void namespace_add(struct reader *reader, struct str name)
{
    struct siteinfo *info = reader->info;
    if (info->namespace_count == NAMESPACES_MAX)
        return;
    if (info->namespace_count == reader->capacity) {
        size_t capacity = reader->capacity ? 2 * reader->capacity : 64;
        struct wiki_namespace *more = arena_array(reader->arena, capacity, sizeof(*more));
        if (info->namespace_count)
            memcpy(more, info->namespaces, info->namespace_count * sizeof(*more));
        info->namespaces = more;
        reader->capacity = capacity;
    }
    info->namespaces[info->namespace_count++] = (struct wiki_namespace){reader->key, name};
}

static void XMLCALL element_end(void *context, const XML_Char *name)
{
    struct reader *reader = context;
    struct siteinfo *info = reader->info;
    struct str text = str_trim(buf_str(&reader->text));
    if (strcmp(name, "sitename") == 0)
        info->sitename = arena_copy(reader->arena, text);
    else if (strcmp(name, "dbname") == 0)
        info->dbname = arena_copy(reader->arena, text);
    else if (strcmp(name, "base") == 0)
        info->base = arena_copy(reader->arena, text);
    else if (strcmp(name, "case") == 0)
        info->case_sensitive = str_equal(text, STR("case-sensitive"));
    else if (strcmp(name, "namespace") == 0)
        namespace_add(reader, arena_copy(reader->arena, text));
    buf_reset(&reader->text);
}

static void XMLCALL characters(void *context, const XML_Char *text, int size)
{
    struct reader *reader = context;
    buf_add(&reader->text, text, (size_t)size);
}

static void XMLCALL doctype_begin(void *context, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                                  int internal)
{
    struct reader *reader = context;
    (void)name, (void)system, (void)public, (void)internal;
    reader->doctype = true;
    XML_StopParser(reader->parser, XML_FALSE);
}

int siteinfo_read(const char *name, struct str head, struct siteinfo *info, struct arena *arena, struct error *err)
{
    *info = (struct siteinfo){0};
    assert(head.size <= INT_MAX);
    struct reader reader = {.parser = XML_ParserCreate("UTF-8"), .info = info, .arena = arena};
    if (!reader.parser)
        die(ERR_RESOURCE, "out of memory for an XML parser");
    XML_SetUserData(reader.parser, &reader);
    XML_SetElementHandler(reader.parser, element_begin, element_end);
    XML_SetCharacterDataHandler(reader.parser, characters);
    XML_SetStartDoctypeDeclHandler(reader.parser, doctype_begin);
    int result = 0;
    if (XML_Parse(reader.parser, head.data, (int)head.size, XML_FALSE) != XML_STATUS_OK)
        result = reader.doctype
                     ? fail_at(err, ERR_UNSAFE, name, ERROR_NO_OFFSET,
                               "the dump declares a DOCTYPE, which dumps do not have")
                     : fail_at(err, ERR_INPUT, name, ERROR_NO_OFFSET, "the head of the dump is not XML: %s in line %lu",
                               XML_ErrorString(XML_GetErrorCode(reader.parser)),
                               (unsigned long)XML_GetCurrentLineNumber(reader.parser));
    XML_ParserFree(reader.parser);
    buf_release(&reader.text);
    return result;
}
