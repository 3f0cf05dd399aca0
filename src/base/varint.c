#include "base/varint.h"

void varint_add(Buf *buf, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_add_char(buf, (char) (n | 0x80));
    buf_add_char(buf, (char) n);
}

bool varint_take(Str *rest, uint64_t *ret)
{
    uint64_t n = 0;
    for (size_t i = 0; i < rest->len && i < VARINT_LEN_MAX; i++) {
        uint8_t byte = (uint8_t) rest->at[i];
        if (i == VARINT_LEN_MAX - 1 && byte > 1)
            return false;
        n |= (uint64_t) (byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        *rest = str_skip(*rest, i + 1);
        *ret = n;
        return true;
    }
    return false;
}

void varint_add_signed(Buf *buf, int64_t n)
{
    varint_add(buf, ((uint64_t) n << 1) ^ (uint64_t) (n >> 63));
}

bool varint_take_signed(Str *rest, int64_t *ret)
{
    uint64_t n;
    if (!varint_take(rest, &n))
        return false;
    *ret = (int64_t) (n >> 1) ^ -(int64_t) (n & 1);
    return true;
}

void varint_add_text(Buf *buf, Str text)
{
    varint_add(buf, text.len);
    buf_add_bytes(buf, text.at, text.len);
}

bool varint_take_text(Str *rest, Str *ret)
{
    uint64_t len;
    if (!varint_take(rest, &len) || len > rest->len)
        return false;
    *ret = (Str){ rest->at, (size_t) len };
    *rest = str_skip(*rest, (size_t) len);
    return true;
}
