/* SPDX-License-Identifier: MIT */
/*
 * Rows that are shown as a table or as JSON: an array of objects holds them,
 * and columns say what of them a person wants to see.
 */
#ifndef VIEW_H
#define VIEW_H

#include <json-c/json.h>

/**
 * struct view_column - a column of the table
 */
struct view_column {
	/** @heading: as of table_new(); NULL ends the list */
	const char *heading;
	/**
	 * @text: text with {key} for values of the row. Lists of numbers are
	 * ranges, {key:b} is bytes for people. What the row does not have is "-".
	 */
	const char *text;
};

/* Prints @rows as a table. */
void view_table(const struct view_column *columns, struct json_object *rows);
/* "0-3,7" for an array of ascending numbers; to be freed. */
char *view_ranges(struct json_object *list);

#endif
