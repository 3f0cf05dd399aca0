// vendor.h - channels that are somebody's API: one row says what is asked, and what an answer
// means.
//
// Most vendors differ in data alone: where a request goes, how it logs in, what stands in it,
// where the answer has its id, and what its codes mean. A Vendor is that data; vendor.c makes
// requests of it and reads answers by it, alike for all. The rows are in vendors.c, the bodies in
// body.c: there a vendor's own JSON is written, and nothing else.
//
// An answer is read in this order, and the first that knows it decides:
//
//     1. it says that it was taken: a 2xx with the member, the word and the id of the row
//     2. a phrase in its text
//     3. a code in its JSON
//     4. its HTTP status, by the row
//     5. its HTTP status, as judge_http has it, but that 401 is a login refused; a 2xx that does
//        not say what the row asks for is unclassified
//
// To add a vendor, add its row, its settings and its body, and a line to channel_types[] in
// channel.c. docs/channels.md describes each. One that is asked in a way that no row tells has a
// request of its own, and a row for its answers (servicebus.h).
#pragma once

#include "channels/channel.h"
#include "channels/recipient.h"

// Letter is one request on its way: what is said, to whom.
typedef struct Letter {
    const Message *message;
    const Json *config;
    Arena *arena;
    Target *const *targets; // that it goes to: those whose address can be one
    const Str *addresses;   // of these, as the vendor is to have them
    size_t count;           // 1 and more; 0 where the channel knows where to
    Str id;                 // the same for each try: what the far side may know it by
} Letter;

// VendorAnswer says what a code or a status means.
typedef struct VendorAnswer {
    int64_t from, to;
    DeliveryReason reason;
} VendorAnswer;

// VendorPhrase says what an answer means that has these words in it.
typedef struct VendorPhrase {
    const char *words;
    DeliveryReason reason;
} VendorPhrase;

// Says is what a message must have.
typedef enum Says {
    SAYS_TEXT,     // its own words
    SAYS_EITHER,   // its own words, or the vendor's template that they go into
    SAYS_TEMPLATE, // the template, its own or the channel's templateId: there is no other way
} Says;

typedef struct Vendor {
    ChannelType type; // first: a vendor is a type of channel

    // Where to: base, or the channel's baseUrl instead of it, and the path, in which {member} is
    // the channel's. Without a base, the channel's url is all of it.
    const char *base, *path;

    // How it logs in: the header's value is prefix and the member secret; with a member user, both
    // of them in base64.
    const char *login_header, *prefix, *user, *secret;

    // What is sent.
    const char *content_type; // NULL: application/json
    RecipientKind recipient;
    bool drops_plus; // a number goes without it
    Says says;
    bool takes_html; // where there is no text
    int text_max;    // characters; 0: as many as there are
    size_t body_max; // bytes; 0: as many
    void (*body)(const Letter *letter, JsonOut *out);

    // What is answered. Places are members with slashes between them.
    const char *word_at, *word; // said where it was taken; NULL: nothing is
    const char *results_at;     // a list with an element for each target; NULL: one for all
    const char *id_at[2];       // in the element, or in the answer: either place
    bool has_id_header;         // the id is a header of the answer
    const char *code_at;        // in the answer
    const char *result_code_at; // in an element of the list
    const VendorAnswer *codes, *result_codes, *statuses; // each ends with a reason of NONE
    const VendorPhrase *phrases;                         // ends with NULL
} Vendor;

Err vendor_request(const Parcel *parcel, Transfer *ret, Error *error);
void vendor_judge(const Parcel *parcel, const TransferResult *result);

// vendor_add_field adds a field to a form.
void vendor_add_field(Buf *form, Str name, Str value);

// The bodies, each by its vendor's documentation. A form is written by hand into the Buf of out.
void body_slack(const Letter *letter, JsonOut *out);
void body_teams(const Letter *letter, JsonOut *out);
void body_twilio(const Letter *letter, JsonOut *out);
void body_msg91(const Letter *letter, JsonOut *out);
void body_infobip(const Letter *letter, JsonOut *out);
void body_interakt(const Letter *letter, JsonOut *out);
void body_whatsapp(const Letter *letter, JsonOut *out);
void body_sendgrid(const Letter *letter, JsonOut *out);

extern const Vendor vendor_slack, vendor_teams, vendor_twilio, vendor_msg91, vendor_infobip,
    vendor_interakt, vendor_whatsapp, vendor_360dialog, vendor_sendgrid, vendor_servicebus;
