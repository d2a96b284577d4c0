// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "tool.h"
#include "view.h"

char *view_ranges(struct json_object *list)
{
	size_t count = json_object_array_length(list), size, i;
	int64_t first, last;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < count; i++) {
		first = json_object_get_int64(json_object_array_get_idx(list, i));
		for (last = first; i + 1 < count; last++, i++)
			if (json_object_get_int64(json_object_array_get_idx(list, i + 1)) !=
			    last + 1)
				break;
		fprintf(out, "%s%lld", ftell(out) ? "," : "", (long long)first);
		if (last > first)
			fprintf(out, "-%lld", (long long)last);
	}
	fclose(out);
	return text;
}

static bool is_text(struct json_object *list)
{
	return json_object_is_type(json_object_array_get_idx(list, 0), json_type_string);
}

static char *join(struct json_object *list)
{
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		tool_die(TOOL_FAILED, "out of memory");
	for (i = 0; i < json_object_array_length(list); i++)
		fprintf(out, "%s%s", i ? " " : "",
			json_object_get_string(json_object_array_get_idx(list, i)));
	fclose(out);
	return text;
}

static void put_value(FILE *out, struct json_object *value, const char *how)
{
	char *text;

	switch (json_object_get_type(value)) {
	case json_type_null:
		fputc('-', out);
		break;
	case json_type_array:
		text = is_text(value) ? join(value) : view_ranges(value);
		fputs(*text ? text : "-", out);
		free(text);
		break;
	case json_type_boolean:
		fputs(json_object_get_boolean(value) ? "yes" : "no", out);
		break;
	default:
		if (*how == 'b')
			fputs(tool_bytes(json_object_get_uint64(value)).text, out);
		else
			fputs(json_object_get_string(value), out);
	}
}

static char *expand(const char *text, struct json_object *row)
{
	struct json_object *value;
	char key[48], *line = NULL, *how;
	const char *end;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		tool_die(TOOL_FAILED, "out of memory");
	while (*text) {
		end = *text == '{' ? strchr(text, '}') : NULL;
		if (!end) {
			fputc(*text++, out);
			continue;
		}
		snprintf(key, sizeof(key), "%.*s", (int)(end - text - 1), text + 1);
		how = strchr(key, ':');
		if (how)
			*how++ = '\0';
		value = NULL;
		json_object_object_get_ex(row, key, &value);
		put_value(out, value, how ? how : "");
		text = end + 1;
	}
	fclose(out);
	return line;
}

void view_table(const struct view_column *columns, struct json_object *rows)
{
	struct table *table = table_begin();
	const struct view_column *column;
	char *text;
	size_t i;

	for (column = columns; column->heading; column++)
		table_heading(table, column->heading);
	for (i = 0; i < json_object_array_length(rows); i++) {
		for (column = columns; column->heading; column++) {
			text = expand(column->text, json_object_array_get_idx(rows, i));
			table_cell(table, "%s", text);
			free(text);
		}
	}
	table_print(table, stdout, 1);
	table_free(table);
}
