#include "sim.h"

#include "store/list.h"
#include "store/preference.h"

// Lists, their members, and I41: each member of a list gets what is sent to it, as long as he wants
// it. Who has it on record, or was refused for good, is not sent to again; he gets it twice only
// where nobody could know that he had it; who opted out gets nothing; and nobody is said to have it
// who has not.

enum { OPTED_OUT_EVERY = 17, OPTED_OUT_FIRST = 2 };

static bool opts_out(int member)
{
    return member % OPTED_OUT_EVERY == OPTED_OUT_FIRST;
}

static Str address_of(Arena *arena, int member)
{
    return str_format(arena, "m%d@x.test", member);
}

int member_named(Str address)
{
    int64_t number = 0;
    Str rest = str_skip(address, 1);
    bool is_one =
        str_starts(address, S("m")) && str_to_i64(str_cut(&rest, '@'), 1, MEMBERS_MAX, &number);
    return is_one ? (int) number : 0;
}

static Err publish(Tx *tx, const Pattern *pattern, Error *error)
{
    ListEdition edition;
    ListMember *members = ARENA_ARRAY(&tx->arena, ListMember, pattern->members);
    for (int i = 0; i < pattern->members; i++)
        members[i] = (ListMember){ .address = address_of(&tx->arena, i + 1) };
    size_t count = (size_t) pattern->members;
    TRY(list_begin(tx, OUR_TENANT, str_from(pattern->id), count, &edition, error));
    list_write(tx, &edition, 0, members, count);
    return list_publish(tx, &edition, error);
}

static Err opt_out(Tx *tx, int member, Error *error)
{
    Preference preference = { .address = address_of(&tx->arena, member) };
    TRY(json_parse(&tx->arena, S("[\"email\"]"), &preference.opt_out, error));
    return preference_put(tx, OUR_TENANT, &preference, error);
}

Err list_publish_all(Tx *tx, Error *error)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (patterns[i].members)
            TRY(publish(tx, &patterns[i], error));
    for (int member = 1; member <= MEMBERS_MAX; member++)
        if (opts_out(member))
            TRY(opt_out(tx, member, error));
    return ERR_OK;
}

Str list_draw_event(Sim *sim)
{
    return str_format(&sim->arena,
                      "{'kind':'notification','source':'notification','id':'n%d',"
                      "'payload':{'list':'%s','body':'It burns.'}}",
                      draw(sim, 60), chance(sim, 70) ? "few" : "many");
}

static const Told *told_of(const Told *told, size_t count, int member)
{
    for (size_t i = 0; i < count; i++)
        if (told[i].member == member)
            return &told[i];
    return NULL;
}

static void on_letter(Sim *sim, const Send *send, const Letter *letter, const Told *told)
{
    int name = name_of(sim, send->track), member = letter->member;
    Post *post = send->track->post;
    const Send *before = post->taken_in[member];
    if (member < 1 || member > send->track->pattern->members || !told)
        broken(sim, "I41", "track %d goes to who is not on its list", name);
    else if (post->carried_in[member] == send)
        broken(sim, "I41", "track %d goes to member %d twice in one mail", name, member);
    else if (opts_out(member))
        broken(sim, "I41", "track %d goes to member %d, who opted out", name, member);
    else if (told->send > 0 &&
             (told->verdict == VERDICT_DELIVERED || told->verdict == VERDICT_PERMANENT))
        broken(sim, "I41", "track %d goes to member %d, with whom it is done", name, member);
    else if (before && !is_explained(sim, before))
        broken(sim, "I41", "track %d comes twice to member %d", name, member);
    post->carried_in[member] = send;
    if (letter->is_taken)
        post->taken_in[member] = send;
}

void list_on_send(Sim *sim, const Send *send)
{
    size_t count;
    if (!is_mail(send))
        return;
    const Told *told = look_targets(sim, send->track->id, &count);
    for (size_t i = 0; i < send->letter_count && !sim->has_failed; i++)
        on_letter(sim, send, &send->letters[i], told_of(told, count, send->letters[i].member));
}

// list_on_settle: all have it, or the next attempt goes to the others, or again to who has it not.
void list_on_settle(Sim *sim, const Track *track, const Row *was, const Row *is)
{
    const Pattern *pattern = track->pattern;
    bool may_retry = is->failures - was->failures >= 0 && is->failures - was->failures <= 1 &&
                     is->failures <= pattern->max;
    if (is->state == DELIVERY_RETRYING && !may_retry)
        broken(sim, "I41", "track %d: %d failures of %d", name_of(sim, track), is->failures,
               pattern->max);
    for (int m = 1; m <= pattern->members && is->state == DELIVERY_DELIVERED; m++)
        if (!opts_out(m) && !track->post->taken_in[m])
            broken(sim, "I41", "track %d is delivered, but member %d has it not",
                   name_of(sim, track), m);
}

// is_known: the answer came to a node that lived to tell, and could tell it.
static bool is_known(const Sim *sim, const Send *send)
{
    return send->is_told && !is_explained(sim, send);
}

static void check_rows(Sim *sim, const Track *track)
{
    size_t count;
    const Told *told = look_targets(sim, track->id, &count);
    bool is_whole = track->row.state == DELIVERY_DELIVERED;
    if (count > (size_t) track->pattern->members ||
        (is_whole && count < (size_t) track->pattern->members))
        broken(sim, "I41", "track %d has %zu targets", name_of(sim, track), count);
    for (size_t i = 0; i < count && !sim->has_failed; i++) {
        const Send *taken = track->post->taken_in[told[i].member];
        bool has_it = told[i].verdict == VERDICT_DELIVERED && told[i].send > 0;
        bool is_settled = track->row.state != DELIVERY_SENDING;
        if (has_it && !taken)
            broken(sim, "I41", "track %d: member %d is said to have it, and has not",
                   name_of(sim, track), told[i].member);
        if (!has_it && taken && is_settled && track->closed_at == INSTANT_NONE &&
            is_known(sim, taken))
            broken(sim, "I41", "track %d: that member %d has it is forgotten", name_of(sim, track),
                   told[i].member);
    }
}

void list_often(Sim *sim)
{
    for (size_t i = 0; i < sim->track_count && !sim->has_failed; i++)
        if (sim->tracks[i].post && !sim->tracks[i].is_gone)
            check_rows(sim, &sim->tracks[i]);
}
