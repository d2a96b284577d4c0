// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "tool.h"

#define MAX_COLUMNS 24

struct table {
	unsigned int columns;
	int right[MAX_COLUMNS];
	size_t width[MAX_COLUMNS];
	char **cell;		/* headings first */
	size_t cells, room;
};

/* A heading may have two lines. */
static size_t column_width(const char *text)
{
	size_t first = strcspn(text, "\n"), second = text[first] ? strlen(text + first + 1) : 0;

	return first > second ? first : second;
}

static void add(struct table *table, unsigned int column, char *text)
{
	size_t width = column_width(text);

	if (table->cells == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cell = realloc(table->cell, table->room * sizeof(*table->cell));
		if (!table->cell)
			tool_die(TOOL_FAILED, "out of memory");
	}
	table->cell[table->cells++] = text;
	if (width > table->width[column])
		table->width[column] = width;
}

static char *copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		tool_die(TOOL_FAILED, "out of memory");
	return out;
}

struct table *table_begin(void)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		tool_die(TOOL_FAILED, "out of memory");
	return table;
}

void table_heading(struct table *table, const char *heading)
{
	unsigned int column = table->columns;

	if (column == MAX_COLUMNS)
		return;
	table->right[column] = heading[0] == '>';
	table->columns++;
	add(table, column, copy(heading + table->right[column]));
}

struct table *table_new(const char *heading, ...)
{
	struct table *table = table_begin();
	va_list args;

	va_start(args, heading);
	for (; heading; heading = va_arg(args, const char *))
		table_heading(table, heading);
	va_end(args);
	return table;
}

void table_cell(struct table *table, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int ret;

	va_start(args, format);
	ret = vasprintf(&text, format, args);
	va_end(args);
	if (ret < 0)
		tool_die(TOOL_FAILED, "out of memory");
	add(table, (unsigned int)(table->cells % table->columns), text);
}

static void rule(const struct table *table, FILE *out, int box)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < table->columns; i++) {
		fputs(box ? "+-" : i ? "  " : "", out);
		for (n = 0; n < table->width[i]; n++)
			fputc('-', out);
		if (box)
			fputc('-', out);
	}
	fputs(box ? "+\n" : "\n", out);
}

/* Line @line of a row, which is 1 for what headings have below. */
static void row(const struct table *table, FILE *out, int box, char *const *cell, int line)
{
	const char *text;
	unsigned int i;
	int width, length;

	for (i = 0; i < table->columns; i++) {
		width = (int)table->width[i];
		text = cell[i];
		length = (int)strcspn(text, "\n");
		if (line) {
			text += length + (text[length] == '\n');
			length = (int)strlen(text);
		}
		fputs(box ? "| " : i ? "  " : "", out);
		/* No blanks at the end of a line. */
		if (!box && !table->right[i] && i == table->columns - 1)
			width = 0;
		fprintf(out, table->right[i] ? "%*.*s" : "%-*.*s", width, length, text);
		if (box)
			fputc(' ', out);
	}
	fputs(box ? "|\n" : "\n", out);
}

void table_print(const struct table *table, FILE *out, int box)
{
	bool two_lines = false;
	size_t at;

	for (at = 0; at < table->columns; at++)
		two_lines |= !!strchr(table->cell[at], '\n');
	if (table->cells == table->columns)
		return;
	if (box)
		rule(table, out, box);
	for (at = 0; at + table->columns <= table->cells; at += table->columns) {
		row(table, out, box, table->cell + at, 0);
		if (!at && two_lines)
			row(table, out, box, table->cell, 1);
		if (!at)
			rule(table, out, box);
	}
	if (box)
		rule(table, out, box);
}

void table_free(struct table *table)
{
	size_t i;

	for (i = 0; i < table->cells; i++)
		free(table->cell[i]);
	free(table->cell);
	free(table);
}
