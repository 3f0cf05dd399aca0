// banned.h - library functions that Peal does not use become compile errors.
//
// Each has a safer counterpart in base/: Str and Buf for text, base/time.h for calendars,
// str_to_i64() for numbers, an arena for copies, Random for chance.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets
#pragma GCC poison atoi atol atoll strtol strtoll strtoull strtod sscanf fscanf scanf
#pragma GCC poison localtime gmtime ctime asctime mktime localtime_r gmtime_r
#pragma GCC poison strdup strndup srand popen
