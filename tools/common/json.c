// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "json.h"

void json_string(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

void json_uint(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void json_int(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void json_flag(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

void json_double(struct json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

void json_serial(struct json_object *object, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	json_string(object, key, text);
}

struct json_object *json_child(struct json_object *object, const char *key)
{
	struct json_object *child = json_object_new_object();

	json_object_object_add(object, key, child);
	return child;
}

struct json_object *json_list(struct json_object *object, const char *key)
{
	struct json_object *list = json_object_new_array();

	json_object_object_add(object, key, list);
	return list;
}

struct json_object *json_append(struct json_object *list)
{
	struct json_object *child = json_object_new_object();

	json_object_array_add(list, child);
	return child;
}

void json_bits(struct json_object *object, const char *key, uint64_t bits)
{
	struct json_object *list = json_list(object, key);
	int bit;

	for (bit = 0; bit < 64; bit++)
		if (bits & 1ull << bit)
			json_object_array_add(list, json_object_new_int(bit));
}

void json_print(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

void json_print_line(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}
