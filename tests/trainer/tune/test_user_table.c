/* Tables of the user, and which of their columns are meant. */
#include "base/file.h"
#include "tests/unit.h"
#include "trainer/tune/columns.h"

static struct error error;
static struct error *const err = &error;
static char path[64];

static int open_table(struct table *table, const char *text, size_t size)
{
    snprintf(path, sizeof path, "/tmp/table-%d.csv", (int)getpid());
    assert_int_equal(file_write_all(path, text, size, err), 0);
    return table_open(table, path, err);
}

/* Reads a table and writes its records as "line:field|field;"; an error ends it as "!". */
static const char *read_all(const char *text)
{
    static char out[4096];
    struct table table;
    size_t used = 0;
    int more = open_table(&table, text, strlen(text));
    for (size_t i = 0; more == 0 && i < table.columns; i++)
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%s", i > 0 ? "|" : "", table.names[i]);
    while (more >= 0 && (more = table_next(&table, err)) > 0) {
        used += (size_t)snprintf(out + used, sizeof out - used, ";%d:", (int)table.line);
        for (size_t i = 0; i < table.columns; i++)
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s", i > 0 ? "|" : "",
                                     (int)table.fields[i].size, table.fields[i].data);
    }
    snprintf(out + used, sizeof out - used, more < 0 ? "!" : "");
    table_close(&table);
    unlink(path);
    return out;
}

TEST(tables_are_read)
{
    static const char *const cases[][2] = {
        {"a,b\n1,2\n", "a|b;2:1|2"},
        {"\xef\xbb\xbf"
         "a;b\r\n\"x;y\"\" z\";2\r\n\r\n3;4",
         "a|b;2:x;y\" z|2;4:3|4"},
        {"a;b\n\"one\ntwo\";2\n3;\n", "a|b;2:one\ntwo|2;4:3|"},
        {"a\tb\n\"x\t'2'\n", "a|b;2:\"x|'2'"},
        {"a|b\n1|2\n", "a|b;2:1|2"},
        {"text\none, two\n", "text;2:one, two"},
        {"\"a, x\";b\n1,5;2\n", "a, x|b;2:1,5|2"},
        {"{\"a\":\"x\",\"b\":1}\n\n{\"b\":true,\"c\":0}\n{\"a\":null}", "a|b;1:x|1;3:|true;4:|"},
        {"a,b\n1\n", "a|b!"},
        {"a,b\n1,2\n3,\"4\n5,6\n", "a|b;2:1|2!"},
        {"{\"a\":1}\n[2]\n", "a;1:1!"},
        {"a,a\n", "!"},
        {"\n \n", "!"},
        {"[{\"a\":1}]\n", "!"},
        {"\xff\xfe"
         "a",
         "!"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(read_all(cases[i][0]), cases[i][1]);
}

TEST(rows_without_names_have_any_number_of_columns)
{
    struct table table;
    snprintf(path, sizeof path, "/tmp/table-%d.tsv", (int)getpid());
    static const char text[] = "\xef\xbb\xbf"
                               "a\t\"b\tc\"\r\n\nx\t\t\ny\n"
                               "1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17\tend";
    static const struct {
        uint64_t line;
        size_t columns;
        const char *last;
    } rows[] = {{1, 3, "c\""}, {3, 3, ""}, {4, 1, "y"}, {5, 18, "end"}};
    assert_int_equal(file_write_all(path, text, sizeof text - 1, err), 0);
    assert_int_equal(table_open_rows(&table, path, err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(table_next(&table, err), 1);
        assert_int_equal(table.line, rows[i].line);
        assert_int_equal(table.columns, rows[i].columns);
        assert_true(str_equal(table.fields[rows[i].columns - 1], str_of(rows[i].last)));
    }
    assert_int_equal(table_next(&table, err), 0);
    table_close(&table);
    assert_int_equal(file_write_all(path, "", 0, err), 0);
    assert_int_equal(table_open_rows(&table, path, err), 0);
    assert_int_equal(table_next(&table, err), 0);
    table_close(&table);
    unlink(path);
}

TEST(errors_name_the_line)
{
    read_all("a,b\n1,2\n3,\"4\n5,6\n");
    assert_non_null(strstr(error.text, "line 3: the quotation mark"));
    read_all("a,b\n\"1\n1\",2\n3\n");
    assert_non_null(strstr(error.text, "line 4 has 1 column, the header has 2 columns"));
}

TEST(records_are_kept_as_they_are)
{
    struct table table;
    const char *text = "a;b\r\n\"x\r\ny\";2\r\n3;4";
    assert_int_equal(open_table(&table, text, strlen(text)), 0);
    assert_string_equal(table.end, "\r\n");
    assert_int_equal(table_next(&table, err), 1);
    assert_int_equal(table.raw.size, 8);
    assert_memory_equal(table.raw.data, "\"x\r\ny\";2", 8);
    assert_int_equal(table_next(&table, err), 1);
    assert_int_equal(table.raw.size, 3);
    assert_int_equal(table_next(&table, err), 0);
    table_close(&table);
    unlink(path);
}

/* The columns that are chosen, as "text text2 label"; -1 where there is none. */
static const char *choose(const char *header, const struct column_names *names, bool labelled)
{
    static char out[64];
    struct table table;
    struct columns c;
    assert_int_equal(open_table(&table, header, strlen(header)), 0);
    const int result = columns_choose(&table, names, labelled, &c, err);
    snprintf(out, sizeof out, "%d %d %d", (int)c.text, (int)c.text2, (int)c.label);
    table_close(&table);
    unlink(path);
    return result < 0 ? "!" : out;
}

TEST(columns_are_guessed_where_one_is_sensible)
{
    const struct column_names none = {NULL, NULL, NULL};
    assert_string_equal(choose("text,label\n", &none, true), "0 -1 1");
    assert_string_equal(choose("id,Category,Body\n", &none, true), "2 -1 1");
    assert_string_equal(choose("sentence2,sentence1,label\n", &none, true), "1 0 2");
    assert_string_equal(choose("queue,body\n", &none, true), "1 -1 0");
    assert_string_equal(choose("a,b\n", &none, true), "!");
    assert_string_equal(choose("body,text,label\n", &none, true), "!");
    assert_string_equal(choose("a,b\n", &(struct column_names){"a", NULL, NULL}, true), "0 -1 1");
    assert_string_equal(choose("a,b,c\n", &(struct column_names){"a", "c", "b"}, true), "0 2 1");
    assert_string_equal(choose("text,x\n", &(struct column_names){NULL, NULL, "label"}, false), "0 -1 -1");
    assert_string_equal(choose("a\n", &none, false), "0 -1 -1");
    assert_string_equal(choose("text,label\n", &(struct column_names){"txt", NULL, NULL}, true), "!");
    assert_int_equal(error.kind, ERR_USAGE);
    assert_non_null(strstr(error.hint, "\"text\""));
}
