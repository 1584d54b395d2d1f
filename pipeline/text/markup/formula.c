/* Converts simple TeX formulas, as in <math>, to letters and signs, in one pass. What a brace belongs to (a fraction,
 * an accent) waits on a short stack. */
#include "pipeline/text/markup/formula.h"

#include "pipeline/text/words/word_lists.h"

#define DEPTH_MAX 8u

/* What a command shows. */
enum command_kind {
    SHOWS_SIGN,   /* its text */
    SHOWS_NAME,   /* its text, a word: sin x */
    SHOWS_BLANK,  /* a blank */
    SHOWS_STYLE,  /* nothing: it changes the type of what follows */
    SHOWS_SIDE,   /* nothing; a full stop after it means no bracket */
    SHOWS_ACCENT, /* its text, a combining character, after the letter that follows */
    SHOWS_ROOT,
    SHOWS_FRACTION
};

/* Sorted bytewise. A command that is missing is not part of a simple formula: \sum, \begin, \over … */
// clang-format off
static const struct command {
    const char *name;
    enum command_kind kind;
    const char *text;
} commands[] = {
    {" ", SHOWS_BLANK, ""},
    {"!", SHOWS_STYLE, ""},
    {"#", SHOWS_SIGN, "#"},
    {"$", SHOWS_SIGN, "$"},
    {"%", SHOWS_SIGN, "%"},
    {"&", SHOWS_SIGN, "&"},
    {",", SHOWS_BLANK, ""},
    {":", SHOWS_BLANK, ""},
    {";", SHOWS_BLANK, ""},
    {"Alpha", SHOWS_SIGN, "Α"},
    {"Beta", SHOWS_SIGN, "Β"},
    {"Delta", SHOWS_SIGN, "Δ"},
    {"Gamma", SHOWS_SIGN, "Γ"},
    {"Lambda", SHOWS_SIGN, "Λ"},
    {"Leftarrow", SHOWS_SIGN, "⇐"},
    {"Leftrightarrow", SHOWS_SIGN, "⇔"},
    {"N", SHOWS_SIGN, "ℕ"},
    {"Omega", SHOWS_SIGN, "Ω"},
    {"Phi", SHOWS_SIGN, "Φ"},
    {"Pi", SHOWS_SIGN, "Π"},
    {"Psi", SHOWS_SIGN, "Ψ"},
    {"R", SHOWS_SIGN, "ℝ"},
    {"Rightarrow", SHOWS_SIGN, "⇒"},
    {"Sigma", SHOWS_SIGN, "Σ"},
    {"Theta", SHOWS_SIGN, "Θ"},
    {"Upsilon", SHOWS_SIGN, "Υ"},
    {"Xi", SHOWS_SIGN, "Ξ"},
    {"Z", SHOWS_SIGN, "ℤ"},
    {"_", SHOWS_SIGN, "_"},
    {"aleph", SHOWS_SIGN, "ℵ"},
    {"alpha", SHOWS_SIGN, "α"},
    {"angle", SHOWS_SIGN, "∠"},
    {"approx", SHOWS_SIGN, "≈"},
    {"arccos", SHOWS_NAME, "arccos"},
    {"arcsin", SHOWS_NAME, "arcsin"},
    {"arctan", SHOWS_NAME, "arctan"},
    {"ast", SHOWS_SIGN, "∗"},
    {"bar", SHOWS_ACCENT, "\xCC\x84"},
    {"beta", SHOWS_SIGN, "β"},
    {"bmod", SHOWS_NAME, "mod"},
    {"bold", SHOWS_STYLE, ""},
    {"boldsymbol", SHOWS_STYLE, ""},
    {"bullet", SHOWS_SIGN, "∙"},
    {"cap", SHOWS_SIGN, "∩"},
    {"cdot", SHOWS_SIGN, "⋅"},
    {"cdots", SHOWS_SIGN, "⋯"},
    {"chi", SHOWS_SIGN, "χ"},
    {"circ", SHOWS_SIGN, "°"},
    {"colon", SHOWS_SIGN, ":"},
    {"cong", SHOWS_SIGN, "≅"},
    {"cos", SHOWS_NAME, "cos"},
    {"cot", SHOWS_NAME, "cot"},
    {"cup", SHOWS_SIGN, "∪"},
    {"deg", SHOWS_NAME, "deg"},
    {"delta", SHOWS_SIGN, "δ"},
    {"det", SHOWS_NAME, "det"},
    {"dfrac", SHOWS_FRACTION, ""},
    {"dim", SHOWS_NAME, "dim"},
    {"displaystyle", SHOWS_STYLE, ""},
    {"div", SHOWS_SIGN, "÷"},
    {"dot", SHOWS_ACCENT, "\xCC\x87"},
    {"dots", SHOWS_SIGN, "…"},
    {"dotsb", SHOWS_SIGN, "⋯"},
    {"dotsc", SHOWS_SIGN, "…"},
    {"ell", SHOWS_SIGN, "ℓ"},
    {"emptyset", SHOWS_SIGN, "∅"},
    {"epsilon", SHOWS_SIGN, "ϵ"},
    {"equiv", SHOWS_SIGN, "≡"},
    {"eta", SHOWS_SIGN, "η"},
    {"exists", SHOWS_SIGN, "∃"},
    {"exp", SHOWS_NAME, "exp"},
    {"forall", SHOWS_SIGN, "∀"},
    {"frac", SHOWS_FRACTION, ""},
    {"gamma", SHOWS_SIGN, "γ"},
    {"gcd", SHOWS_NAME, "gcd"},
    {"ge", SHOWS_SIGN, "≥"},
    {"geq", SHOWS_SIGN, "≥"},
    {"gg", SHOWS_SIGN, "≫"},
    {"hat", SHOWS_ACCENT, "\xCC\x82"},
    {"hbar", SHOWS_SIGN, "ℏ"},
    {"iff", SHOWS_SIGN, "⟺"},
    {"implies", SHOWS_SIGN, "⟹"},
    {"in", SHOWS_SIGN, "∈"},
    {"infty", SHOWS_SIGN, "∞"},
    {"iota", SHOWS_SIGN, "ι"},
    {"kappa", SHOWS_SIGN, "κ"},
    {"ker", SHOWS_NAME, "ker"},
    {"lVert", SHOWS_SIGN, "‖"},
    {"lambda", SHOWS_SIGN, "λ"},
    {"land", SHOWS_SIGN, "∧"},
    {"langle", SHOWS_SIGN, "⟨"},
    {"lbrace", SHOWS_SIGN, "{"},
    {"lceil", SHOWS_SIGN, "⌈"},
    {"ldots", SHOWS_SIGN, "…"},
    {"le", SHOWS_SIGN, "≤"},
    {"left", SHOWS_SIDE, ""},
    {"leftarrow", SHOWS_SIGN, "←"},
    {"leftrightarrow", SHOWS_SIGN, "↔"},
    {"leq", SHOWS_SIGN, "≤"},
    {"lfloor", SHOWS_SIGN, "⌊"},
    {"ll", SHOWS_SIGN, "≪"},
    {"ln", SHOWS_NAME, "ln"},
    {"lnot", SHOWS_SIGN, "¬"},
    {"log", SHOWS_NAME, "log"},
    {"lor", SHOWS_SIGN, "∨"},
    {"mapsto", SHOWS_SIGN, "↦"},
    {"mathbb", SHOWS_STYLE, ""},
    {"mathbf", SHOWS_STYLE, ""},
    {"mathcal", SHOWS_STYLE, ""},
    {"mathfrak", SHOWS_STYLE, ""},
    {"mathit", SHOWS_STYLE, ""},
    {"mathrm", SHOWS_STYLE, ""},
    {"mathsf", SHOWS_STYLE, ""},
    {"max", SHOWS_NAME, "max"},
    {"mbox", SHOWS_STYLE, ""},
    {"mid", SHOWS_SIGN, "∣"},
    {"min", SHOWS_NAME, "min"},
    {"mod", SHOWS_NAME, "mod"},
    {"mp", SHOWS_SIGN, "∓"},
    {"mu", SHOWS_SIGN, "μ"},
    {"nabla", SHOWS_SIGN, "∇"},
    {"ne", SHOWS_SIGN, "≠"},
    {"neg", SHOWS_SIGN, "¬"},
    {"neq", SHOWS_SIGN, "≠"},
    {"notin", SHOWS_SIGN, "∉"},
    {"nu", SHOWS_SIGN, "ν"},
    {"omega", SHOWS_SIGN, "ω"},
    {"operatorname", SHOWS_STYLE, ""},
    {"oplus", SHOWS_SIGN, "⊕"},
    {"otimes", SHOWS_SIGN, "⊗"},
    {"parallel", SHOWS_SIGN, "∥"},
    {"partial", SHOWS_SIGN, "∂"},
    {"perp", SHOWS_SIGN, "⊥"},
    {"phi", SHOWS_SIGN, "ϕ"},
    {"pi", SHOWS_SIGN, "π"},
    {"pm", SHOWS_SIGN, "±"},
    {"prime", SHOWS_SIGN, "′"},
    {"propto", SHOWS_SIGN, "∝"},
    {"psi", SHOWS_SIGN, "ψ"},
    {"qquad", SHOWS_BLANK, ""},
    {"quad", SHOWS_BLANK, ""},
    {"rVert", SHOWS_SIGN, "‖"},
    {"rangle", SHOWS_SIGN, "⟩"},
    {"rbrace", SHOWS_SIGN, "}"},
    {"rceil", SHOWS_SIGN, "⌉"},
    {"rfloor", SHOWS_SIGN, "⌋"},
    {"rho", SHOWS_SIGN, "ρ"},
    {"right", SHOWS_SIDE, ""},
    {"rightarrow", SHOWS_SIGN, "→"},
    {"rm", SHOWS_STYLE, ""},
    {"setminus", SHOWS_SIGN, "∖"},
    {"sigma", SHOWS_SIGN, "σ"},
    {"sim", SHOWS_SIGN, "∼"},
    {"simeq", SHOWS_SIGN, "≃"},
    {"sin", SHOWS_NAME, "sin"},
    {"sinh", SHOWS_NAME, "sinh"},
    {"sqrt", SHOWS_ROOT, "√"},
    {"star", SHOWS_SIGN, "⋆"},
    {"subset", SHOWS_SIGN, "⊂"},
    {"subseteq", SHOWS_SIGN, "⊆"},
    {"sup", SHOWS_NAME, "sup"},
    {"supset", SHOWS_SIGN, "⊃"},
    {"tan", SHOWS_NAME, "tan"},
    {"tanh", SHOWS_NAME, "tanh"},
    {"tau", SHOWS_SIGN, "τ"},
    {"text", SHOWS_STYLE, ""},
    {"textbf", SHOWS_STYLE, ""},
    {"textit", SHOWS_STYLE, ""},
    {"textrm", SHOWS_STYLE, ""},
    {"textstyle", SHOWS_STYLE, ""},
    {"tfrac", SHOWS_FRACTION, ""},
    {"theta", SHOWS_SIGN, "θ"},
    {"tilde", SHOWS_ACCENT, "\xCC\x83"},
    {"times", SHOWS_SIGN, "×"},
    {"to", SHOWS_SIGN, "→"},
    {"upsilon", SHOWS_SIGN, "υ"},
    {"varepsilon", SHOWS_SIGN, "ε"},
    {"varphi", SHOWS_SIGN, "φ"},
    {"vec", SHOWS_ACCENT, "\xE2\x83\x97"},
    {"vee", SHOWS_SIGN, "∨"},
    {"wedge", SHOWS_SIGN, "∧"},
    {"xi", SHOWS_SIGN, "ξ"},
    {"zeta", SHOWS_SIGN, "ζ"},
    {"{", SHOWS_SIGN, "{"},
    {"|", SHOWS_SIGN, "‖"},
    {"}", SHOWS_SIGN, "}"},
};
// clang-format on

/* An open brace, and its effect when it closes. */
enum group_kind { GROUP_PLAIN, GROUP_ABOVE, GROUP_BELOW, GROUP_ROOT, GROUP_ACCENT };

struct group {
    enum group_kind kind;
    const char *accent;
    size_t from; /* start in the output */
};

struct reader {
    struct str tex;
    size_t at;
    struct buf *out;
    size_t start;
    struct group groups[DEPTH_MAX];
    size_t depth;
    struct group next; /* what the next brace opens */
    bool name_before;  /* a word like "sin" was shown last */
};

static bool is_letter(char byte)
{
    return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

static const struct command *find_command(struct str name)
{
    const size_t count = sizeof commands / sizeof *commands;
    const size_t row = row_find(&commands->name, count, sizeof *commands, name);
    return row < count ? &commands[row] : NULL;
}

static void add_blank(struct reader *r)
{
    if (r->out->size > r->start && !strchr(" (", r->out->data[r->out->size - 1]))
        buf_add_byte(r->out, ' ');
}

static void add(struct reader *r, struct str shown)
{
    if (r->name_before && is_letter(shown.data[0]))
        add_blank(r);
    if (shown.data[0] == ')' && r->out->size > r->start && r->out->data[r->out->size - 1] == ' ')
        r->out->size--;
    r->name_before = false;
    buf_add_str(r->out, shown);
}

/* True for one letter, number or word, which needs no brackets beside a slash. */
static bool is_single(struct str shown)
{
    for (size_t i = 0; i < shown.size; i++)
        if ((unsigned char)shown.data[i] < 0x80 && !is_letter(shown.data[i]) &&
            (shown.data[i] < '0' || shown.data[i] > '9') && shown.data[i] != '.')
            return false;
    return true;
}

/* Puts brackets around the output since `from` if it needs them. */
static void bracket(struct reader *r, size_t from)
{
    const size_t size = r->out->size - from;
    const char *shown = r->out->data + from;
    if (is_single((struct str){shown, size}) || (shown[0] == '(' && shown[size - 1] == ')'))
        return;
    buf_add(r->out, "  ", 2);
    memmove(r->out->data + from + 1, r->out->data + from, size);
    r->out->data[from] = '(';
    r->out->data[from + size + 1] = ')';
}

static bool open_group(struct reader *r)
{
    if (r->depth == DEPTH_MAX)
        return false;
    r->groups[r->depth] = r->next;
    r->groups[r->depth++].from = r->out->size;
    r->next = (struct group){.kind = GROUP_PLAIN};
    return true;
}

static bool close_group(struct reader *r)
{
    if (r->depth == 0 || r->next.kind != GROUP_PLAIN)
        return false;
    const struct group *group = &r->groups[--r->depth];
    const size_t size = r->out->size - group->from;
    if (group->kind == GROUP_PLAIN)
        return true;
    if (size == 0)
        return false;
    if (group->kind == GROUP_ACCENT) {
        uint32_t letter;
        unsigned skip;
        const bool is_letter_alone = utf8_decode(r->out->data + group->from, size, &letter, &skip) == size;
        buf_add_str(r->out, str_of(group->accent));
        return is_letter_alone;
    }
    bracket(r, group->from);
    if (group->kind == GROUP_ABOVE) {
        buf_add_byte(r->out, '/');
        r->next.kind = GROUP_BELOW;
    }
    return true;
}

static bool read_command(struct reader *r)
{
    const size_t from = r->at;
    while (r->at < r->tex.size && is_letter(r->tex.data[r->at]))
        r->at++;
    r->at += r->at == from && r->at < r->tex.size; /* a command is letters, or one other byte */
    const struct command *command = find_command((struct str){r->tex.data + from, r->at - from});
    if (!command)
        return false;
    switch (command->kind) {
    case SHOWS_NAME: /* a blank keeps the name apart from a letter before it: "a sin b" */
        if (r->out->size > r->start && is_letter(r->out->data[r->out->size - 1]))
            add_blank(r);
        add(r, str_of(command->text));
        r->name_before = true;
        break;
    case SHOWS_SIGN:
        if (r->name_before)
            add_blank(r);
        add(r, str_of(command->text));
        break;
    case SHOWS_BLANK:
        add_blank(r);
        break;
    case SHOWS_STYLE:
        break;
    case SHOWS_SIDE:
        r->at += r->at < r->tex.size && r->tex.data[r->at] == '.';
        break;
    case SHOWS_ACCENT:
        r->next = (struct group){.kind = GROUP_ACCENT, .accent = command->text};
        break;
    case SHOWS_ROOT:
        add(r, str_of(command->text));
        r->next.kind = GROUP_ROOT;
        break;
    case SHOWS_FRACTION:
        r->next.kind = GROUP_ABOVE;
        break;
    }
    return true;
}

/* False if the formula is not simple. */
static bool read_next(struct reader *r)
{
    const char byte = r->tex.data[r->at++];
    const bool wants_brace = r->next.kind != GROUP_PLAIN;
    switch (byte) {
    case ' ':
    case '\n':
    case '\t':
    case '~':
        if (!wants_brace)
            add_blank(r);
        return true;
    case '{':
        return open_group(r);
    case '}':
        return close_group(r);
    case '\\':
        return !wants_brace && read_command(r);
    case '_':
    case '^':
        r->name_before = false;
        return !wants_brace;
    case '&':
    case '%':
        return false; /* columns of a matrix, a comment */
    case '-':
        if (r->at < r->tex.size && r->tex.data[r->at] == '>') { /* from chemical formulas */
            add(r, STR("→"));
            r->at++;
        } else {
            add(r, STR("−"));
        }
        return !wants_brace;
    case '\'':
        add(r, STR("′"));
        return !wants_brace;
    default:
        add(r, (struct str){&byte, 1});
        return !wants_brace && ((unsigned char)byte >= ' ');
    }
}

bool formula_add(struct str tex, struct buf *out)
{
    tex = str_trim(tex);
    if (tex.size == 0 || tex.size > FORMULA_BYTES_MAX)
        return false;
    struct reader reader = {.tex = tex, .out = out, .start = out->size};
    bool is_simple = true;
    while (is_simple && reader.at < tex.size)
        is_simple = read_next(&reader);
    if (!is_simple || reader.depth > 0 || reader.next.kind != GROUP_PLAIN || out->size == reader.start) {
        out->size = reader.start;
        return false;
    }
    if (out->data[out->size - 1] == ' ')
        out->size--;
    return true;
}
