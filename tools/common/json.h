/* SPDX-License-Identifier: MIT */
/*
 * JSON for programs: short names for what the tools need of json-c.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

void json_string(struct json_object *object, const char *key, const char *text);
void json_uint(struct json_object *object, const char *key, uint64_t value);
void json_int(struct json_object *object, const char *key, int64_t value);
void json_flag(struct json_object *object, const char *key, bool value);
void json_double(struct json_object *object, const char *key, double value);
/* "%016x": numbers that people copy, and 64 bits that not all parsers have */
void json_serial(struct json_object *object, const char *key, uint64_t value);
/* A new object or array at @key of @object. */
struct json_object *json_child(struct json_object *object, const char *key);
struct json_object *json_list(struct json_object *object, const char *key);
/* A new object at the end of an array. */
struct json_object *json_append(struct json_object *list);
/* Array of the numbers of the bits that are set. */
void json_bits(struct json_object *object, const char *key, uint64_t bits);
/* On standard output, and frees it: readable, or one line. */
void json_print(struct json_object *object);
void json_print_line(struct json_object *object);

#endif
