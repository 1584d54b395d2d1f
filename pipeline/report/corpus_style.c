/* The style of what only this page has; the rest is in base/html_style.c. */
#include "pipeline/report/corpus_sections.h"

const char corpus_report_style[] =
    /* The funnel: a step is a line, a bar and what was left behind on the way. */
    ".funnel{list-style:none;margin:1rem 0 0;padding:0}"
    ".funnel>li{padding:0 0 1.1rem 1.1rem;border-left:2px solid var(--line);position:relative}"
    ".funnel>li:last-child{padding-bottom:0}"
    ".funnel>li::before{content:\"\";position:absolute;left:-.4rem;top:.42rem;width:.62rem;height:.62rem;"
    "border-radius:50%;background:var(--bar)}"
    ".step{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}"
    ".step b{font-weight:600}"
    ".stack{display:flex;gap:1px;height:.8rem;margin:.25rem 0;background:var(--rest);border-radius:3px;overflow:hidden}"
    ".stack i{height:100%;border-radius:0;min-width:0}"
    ".stack .second{background:var(--bar2)}.stack .third{background:var(--bar3)}.stack .drop{background:var(--drop)}"
    ".b .stack{height:.62rem;margin:0;border-radius:2px}"
    ".key{display:inline-block;width:.75em;height:.75em;border-radius:2px;background:var(--bar);margin-right:.35em}"
    ".key.second{background:var(--bar2)}.key.third{background:var(--bar3)}.key.drop{background:var(--drop)}\n";
