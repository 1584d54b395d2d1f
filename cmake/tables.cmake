# The tables of data/ (data/README.md) as C in BUILD/tables: every line of a file becomes one line, and #line lets the
# compiler name the file and the line where it is wrong. Texts are changed as a whole, because CMake's lists would split
# them at semicolons and brackets.

# The file's text, each line after a line end, ready for strings of C. Comments are empty lines.
function(table_text file comment out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX REPLACE "\n$" "" text "\n${text}")
    string(REGEX REPLACE "\n${comment}[^\n]*" "\n" text "${text}")
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${file})
    set(${out} "${text}" PARENT_SCOPE)
    set(line "#line 1 \"${name}\"" PARENT_SCOPE)
endfunction()

# Writes the C file, unless it is there already, and adds it to the room.
function(table_write name code)
    file(WRITE ${CMAKE_BINARY_DIR}/tables/new "/* Made of data/ by cmake/tables.cmake. */\n${code}")
    file(COPY_FILE ${CMAKE_BINARY_DIR}/tables/new ${CMAKE_BINARY_DIR}/tables/${name} ONLY_IF_DIFFERENT)
    target_sources(pipeline PRIVATE ${CMAKE_BINARY_DIR}/tables/${name})
endfunction()

# "name = pattern", "name = @renderer", "name = @renderer "parameter"", "name = @text "text"" → rows of call.h.
function(rows_of file comment table out)
    table_text(${file} "${comment}" rows)
    string(REGEX REPLACE "\n([^\n=]+) = @text \\\\\"([^\n]*)\\\\\"" "\n{\"\\1\", \"\\2\", NULL}," rows "${rows}")
    string(REGEX REPLACE "\n([^\n{=][^\n=]*) = @([a-z_]+) \\\\\"([^\n]*)\\\\\""
        "\n{\"\\1\", \"\\3\", render_\\2}," rows "${rows}")
    string(REGEX REPLACE "\n([^\n{=][^\n=]*) = @([^\n]*)" "\n{\"\\1\", \"\", render_\\2}," rows "${rows}")
    string(REGEX REPLACE "\n(=|[^\n{=][^\n=]*) = ([^\n]+)" "\n{\"\\1\", \"\\2\", NULL}," rows "${rows}")
    set(${out} "static const struct row ${table}[] = {\n${line}${rows}\n};\n" PARENT_SCOPE)
endfunction()

# data/functions.txt, and data/templates/CODE.txt: a list of rows for each wiki.
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/templates/*.txt)
set(tables "")
set(lists "")
foreach(file ${files})
    get_filename_component(code ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER rows_${code} table)
    rows_of(${file} "#" ${table} rows)
    string(APPEND tables "${rows}")
    string(APPEND lists "{\"${code}\", ${table}, sizeof ${table} / sizeof *${table}},\n")
endforeach()
rows_of(${CMAKE_SOURCE_DIR}/data/functions.txt "# " functions rows)
table_write(template_rows.c "#include \"pipeline/text/templates/call.h\"
${rows}const struct row_list parser_functions = {\"\", functions, sizeof functions / sizeof *functions};
${tables}const struct row_list row_lists[] = {\n${lists}};
const size_t row_list_count = sizeof row_lists / sizeof *row_lists;\n")

# data/languages/CODE.txt, English first: "key = value", then the lists, each after its name in brackets.
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/languages/*.txt)
list(REMOVE_ITEM files ${CMAKE_SOURCE_DIR}/data/languages/en.txt)
set(tables "")
foreach(file ${CMAKE_SOURCE_DIR}/data/languages/en.txt ${files})
    get_filename_component(code ${file} NAME_WE)
    table_text(${file} "# " words)
    string(REGEX REPLACE "\n([a-z_]+) = \\\\\"([^\n]*)\\\\\"" "\n.\\1 = \"\\2\"," words "${words}")
    string(REGEX REPLACE "\n([a-z_]+) = ([^\n]*)" "\n.\\1 = \\2," words "${words}")
    string(REGEX REPLACE "\n([^\n.[][^\n]*)" "\n\"\\1\"," words "${words}")
    string(REGEX REPLACE "\n\\[([^\n]*)\\]" "\n), .\\1 = WORDS(" words "${words}")
    string(REGEX REPLACE "^([^()]*)\\)(, )?" "\\1" words "${words}\n)") # before the first list none ends
    string(APPEND tables "{.code = \"${code}\",\n${line}${words}},\n")
endforeach()
table_write(language_words.c "#include \"pipeline/text/words/languages.h\"
const struct language language_tables[] = {\n${tables}};
const size_t language_count = sizeof language_tables / sizeof *language_tables;\n")

# data/words/NAME.txt: a list each; data/common_words/CODE.txt: a list for each language that is guessed.
function(words_of file out)
    table_text(${file} "# " words)
    string(REGEX REPLACE "\n([^\n]+)" "\n\"\\1\"," words "${words}")
    string(REGEX REPLACE "^\n" "" words "${words}")
    set(${out} "\n${line}\nWORDS(${words}\n)" PARENT_SCOPE)
endfunction()
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/words/*.txt)
set(tables "")
foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    words_of(${file} words)
    string(APPEND tables "const struct words ${name} =${words};\n")
endforeach()
table_write(word_tables.c "#include \"pipeline/text/words/word_lists.h\"\n${tables}")

words_of(${CMAKE_SOURCE_DIR}/data/demo.txt words)
table_text(${CMAKE_SOURCE_DIR}/data/demo.json "#" text)
string(REGEX REPLACE "\n([^\n]*)" "\n\"\\1\\\\n\"" text "${text}")
table_write(demo_published.c "#include \"pipeline/verbs/demo_weights.h\"\nconst char demo_published[] =\n${line}${text};\n")
table_write(demo_lines.c "#include \"pipeline/verbs/demo_text.h\"\nconst struct words demo_lines =${words};\n")

file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/common_words/*.txt)
set(tables "")
foreach(file ${files})
    get_filename_component(code ${file} NAME_WE)
    words_of(${file} words)
    string(APPEND tables "{\"${code}\",${words}},\n")
endforeach()
table_write(common_words.c "#include \"pipeline/text/words/guess.h\"
const struct common_words common_words[] = {\n${tables}};
const size_t common_words_count = sizeof common_words / sizeof *common_words;\n")

# data/names/NAME.txt: "code = name".
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/data/names/*.txt)
set(tables "")
foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    table_text(${file} "#" rows)
    string(REGEX REPLACE "\n([^\n=]+) = ([^\n]+)" "\n{\"\\1\", \"\\2\"}," rows "${rows}")
    string(APPEND tables "static const struct code_name ${name}_items[] = {\n${line}${rows}\n};
const struct names ${name} = {${name}_items, sizeof ${name}_items / sizeof *${name}_items};\n")
endforeach()
table_write(name_tables.c "#include \"pipeline/text/words/word_lists.h\"\n${tables}")

# data/tags.txt: "name = KIND FATE" or "name = KIND FATE block".
table_text(${CMAKE_SOURCE_DIR}/data/tags.txt "#" rows)
string(REGEX REPLACE "\n([^\n=]+) = ([A-Z]+) ([A-Z]+) block" "\n{\"\\1\", TAG_\\2, FATE_\\3, true}," rows "${rows}")
string(REGEX REPLACE "\n([^\n{=]+) = ([A-Z]+) ([A-Z]+)" "\n{\"\\1\", TAG_\\2, FATE_\\3, false}," rows "${rows}")
table_write(tag_table.c "#include \"pipeline/text/markup/tags.h\"
const struct tag tags[] = {\n${line}${rows}\n};
const unsigned tag_count = sizeof tags / sizeof *tags;
_Static_assert(sizeof tags / sizeof *tags <= TAGS_MAX, \"TAGS_MAX is too small\");\n")

# data/entities.txt: "name = code points", one or two.
table_text(${CMAKE_SOURCE_DIR}/data/entities.txt "#" rows)
string(REGEX REPLACE "\n([^\n=]+) = ([0-9A-F]+) ([0-9A-F]+)" "\n{\"\\1\", {0x\\2, 0x\\3}}," rows "${rows}")
string(REGEX REPLACE "\n([^\n{=]+) = ([0-9A-F]+)" "\n{\"\\1\", {0x\\2}}," rows "${rows}")
table_write(entity_table.c "#include \"pipeline/text/markup/entities.h\"
const struct entity entities[] = {\n${line}${rows}\n};
const size_t entity_count = sizeof entities / sizeof *entities;\n")

# data/formulas.txt: "\command KIND" or "\command KIND text".
table_text(${CMAKE_SOURCE_DIR}/data/formulas.txt "#" rows)
set(command "\n\\\\\\\\([A-Za-z]+|[^\n]) ([A-Z]+)")
string(REGEX REPLACE "${command} ([^\n]+)" "\n{\"\\1\", SHOWS_\\2, \"\\3\"}," rows "${rows}")
string(REGEX REPLACE "${command}" "\n{\"\\1\", SHOWS_\\2, \"\"}," rows "${rows}")
table_write(formula_table.c "#include \"pipeline/text/markup/formula.h\"
const struct formula_command formula_commands[] = {\n${line}${rows}\n};
const size_t formula_command_count = sizeof formula_commands / sizeof *formula_commands;\n")

# data/units.txt: eight columns.
table_text(${CMAKE_SOURCE_DIR}/data/units.txt "#" rows)
set(column "([^\n|]+)")
set(bar " [|] ")
string(REGEX REPLACE
    "\n${column}${bar}${column}${bar}${column}${bar}${column}${bar}${column}${bar}([A-Z])${bar}${column}${bar}${column}"
    "\n{\"\\1\", \"\\2\", \"\\3\", \"\\4\", \"\\5\", '\\6', \\7, \\8}," rows "${rows}")
table_write(unit_table.c "#include \"pipeline/text/templates/units.h\"
const struct unit units[] = {\n${line}${rows}\n};
const size_t unit_count = sizeof units / sizeof *units;\n")

# data/number_styles.txt: six columns.
table_text(${CMAKE_SOURCE_DIR}/data/number_styles.txt "#" rows)
string(REPLACE " nbsp " " \\xC2\\xA0 " rows "${rows}")
string(REPLACE " narrow " " \\xE2\\x80\\xAF " rows "${rows}")
string(REGEX REPLACE "\n${column}${bar}${column}${bar}${column}${bar}([0-9])${bar}([23])${bar}${column}"
    "\n{\"\\1\", \"\\2\", \"\\3\", \\4, \\5, U'\\6'}," rows "${rows}")
table_write(number_style_table.c "#include \"pipeline/text/templates/number_style.h\"
const struct number_style number_styles[] = {\n${line}${rows}\n};
const size_t number_style_count = sizeof number_styles / sizeof *number_styles;\n")

# data/modules.txt: as it is, for templates_parse.
table_text(${CMAKE_SOURCE_DIR}/data/modules.txt "#" rows)
string(REGEX REPLACE "\n([^\n]*)" "\n\"\\1\\\\n\"" rows "${rows}")
table_write(module_table.c "#include \"pipeline/text/templates/modules.h\"
const char modules_text[] =\n${line}${rows};\n")
