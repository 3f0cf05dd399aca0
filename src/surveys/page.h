// page.h - the page of a survey, as HTML: pure.
//
// It works without a script (page.js tells that somebody looks, and hides what does not apply), in
// any width, in either direction of writing, in light and dark. What is asked stands in fieldsets
// and labels; what is wrong stands first and leads to its question; whatever was answered is still
// there. Texts of the survey's and answers are text, whatever they look like. A text that is not in
// the page's language says in which it is.
//
// The form goes to <root><publicId>/responses and comes back as form.h says; its own hidden fields
// hold the answers of other pages, where each question has its own. Addresses are relative, so that
// it may stand below any path of a proxy. page_css and page_js are all that it loads.
#pragma once

#include "domain/answer.h"
#include "surveys/turn.h"

typedef struct Page {
    const Survey *survey;
    Str public_id;
    Str language;           // of the survey's
    Str root;               // from where it is read to /s/
    const Json *given;      // the answers so far, as a form gave them; NULL: none
    const Answers *answers; // the same, checked
    Turn turn;              // TURN_ASK or TURN_WRONG
} Page;

void page_write(Buf *out, const Page *page);

// PageNote is a page that asks nothing.
typedef enum PageNote {
    PAGE_THANKS,  // it was answered
    PAGE_OVER,    // it takes no answer any more
    PAGE_NOBODY,  // there is none, and perhaps never was
    PAGE_MISREAD, // nobody understood what was sent
    PAGE_TOO_MUCH,
    PAGE_CROWDED,
    PAGE_DOWN,
} PageNote;

typedef struct NotePage {
    PageNote note;
    const Survey *survey; // NULL: nothing is said of it; thanks need one
    Str public_id;        // of its invitation, where there is a survey
    Str language, root;
} NotePage;

void page_write_note(Buf *out, const NotePage *page);

extern const char page_css[], page_js[];

// PAGE_POLICY is what a browser may do for such a page (Content-Security-Policy).
#define PAGE_POLICY                                                                                \
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "                \
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
