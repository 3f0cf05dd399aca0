#include "sim.h"

// A mail server: it answers for each recipient, and may take the message and never say so. What
// mail is about is read from it as its readers could: the Message-ID names delivery and send, the
// same on every try.

static Str header_of(Str mail, Str name)
{
    for (Str rest = mail; rest.len > 0;) {
        Str line = str_cut(&rest, '\n');
        if (str_starts(line, name))
            return str_skip(line, name.len);
    }
    return STR_NONE;
}

// attempt_of is the newest that the node has claimed and not sent: a mail does not tell.
static int attempt_of(const Track *track, int64_t node)
{
    for (int a = ATTEMPTS_MAX - 1; a > 0; a--)
        if (track->is_claimed[a] && track->claimed_by[a] == node && !track->sends[a])
            return a;
    return 0;
}

void mail_read(Sim *sim, const Transfer *transfer, Send *ret)
{
    const SmtpEnvelope *envelope = &transfer->mail->envelope;
    Str rest = header_of(transfer->body, S("Message-ID: <"));
    Str id_text = str_cut(&rest, '.');
    Uuid id;
    int64_t send = 0;
    if (uuid_parse(id_text, &id) && str_to_i64(str_cut(&rest, '@'), 1, 1000, &send))
        ret->track = track_of(sim, id, false);
    ret->send = (int) send;
    if (ret->track)
        ret->attempt = attempt_of(ret->track, sim->nodes[ret->node].number);
    ret->letters = ARENA_ARRAY(&sim->arena, Letter, envelope->count);
    ret->letter_count = envelope->count;
    for (size_t i = 0; i < envelope->count; i++)
        ret->letters[i] = (Letter){ .member = member_named(envelope->recipients[i]) };
}

// draw_code is what one recipient of a mail that is taken as a whole is answered.
static int draw_code(Sim *sim, const Mood *mood)
{
    if (mood == &moods[0] || !chance(sim, 12))
        return 250;
    return chance(sim, 50) ? 450 : 550;
}

static int code_of(Answer answer)
{
    switch (answer) {
    case ANSWER_REFUSED:
    case ANSWER_GONE:
        return 554;
    case ANSWER_UNWELL:
        return 451;
    case ANSWER_LATER:
        return 421;
    case ANSWER_TAKEN:
    case ANSWER_NO_CONNECTION:
    case ANSWER_LOST:
    case ANSWER_NEVER:
        break;
    }
    return 0;
}

// mail_script: of a mail whose last reply is lost, those who were refused before are known.
void mail_script(Sim *sim, Send *send)
{
    const Mood *mood = sim->lanes[send->lane].mood;
    bool is_taken = send->answer == ANSWER_TAKEN || send->answer == ANSWER_LOST;
    send->status = 0;
    send->retry_after = 0;
    for (size_t i = 0; i < send->letter_count; i++) {
        Letter *letter = &send->letters[i];
        letter->code = is_taken ? draw_code(sim, mood) : code_of(send->answer);
        letter->is_taken = letter->code == 250;
        if (letter->is_taken && send->answer == ANSWER_LOST)
            letter->code = 0;
    }
}

bool mail_was_answered(const Send *send)
{
    for (size_t i = 0; i < send->letter_count; i++)
        if (send->letters[i].code)
            return true;
    return false;
}

void mail_tell(Send *send, TransferResult *result)
{
    static SmtpReply replies[MEMBERS_MAX];
    for (size_t i = 0; i < send->letter_count; i++)
        replies[i] = (SmtpReply){ send->letters[i].code, S("as the simulation says") };
    result->replies = replies;
}
