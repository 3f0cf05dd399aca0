// servicebus.h - messages for a queue or topic of Azure Service Bus, over its REST interface.
//
// Service Bus is a vendor like others in what its answers mean (its row is in vendors.c), and like
// none in how it is asked: for a program, not for a person, so the body is what an http channel
// posts; with a token that is signed anew for each attempt; and with what the broker itself is to
// know in a header, BrokerProperties. The MessageId in it is the public id, the same for each try:
// a queue that detects duplicates takes a message once, however often its receipt is lost.
//
// A token holds for an hour from Peal's own now. So a clock that is slow by less still gets in, and
// whoever reads a token has it for no longer.
#pragma once

#include "channels/channel.h"

#define SERVICEBUS_TOKEN_LIFE SPAN_HOUR

enum { SERVICEBUS_NAMESPACE_MAX = 253, SERVICEBUS_QUEUE_MAX = 260, SERVICEBUS_KEY_NAME_MAX = 256 };

// What a name may be: it stands in a URL, and is signed, as it is given.
bool servicebus_is_namespace(Str text);
bool servicebus_is_queue(Str text);

// servicebus_token is the value of the header Authorization that opens resource, a URL, until
// expires: a SharedAccessSignature by the key of that name.
Str servicebus_token(Arena *arena, Str resource, Str key_name, Str key, Instant expires);

Err servicebus_request(const Parcel *parcel, Transfer *ret, Error *error);
