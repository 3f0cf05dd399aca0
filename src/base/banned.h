// banned.h - library functions that Peal does not use become compile errors.
//
// Each has a safer counterpart in base/: Str and Buf for text, base/time.h for calendars,
// str_to_i64() for numbers.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets
#pragma GCC poison atoi atol atoll localtime gmtime ctime asctime mktime
