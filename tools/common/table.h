/* SPDX-License-Identifier: MIT */
/*
 * Tables for people: columns as wide as what is in them.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdio.h>

struct table;

/*
 * A table with a heading for each column, NULL at the end. A heading that
 * starts with '>' makes its column flush right; "\n" parts it into two lines.
 */
struct table *table_new(const char *heading, ...) __attribute__((sentinel));
/* The same column by column, before any cell. */
struct table *table_begin(void);
void table_heading(struct table *table, const char *heading);
/* Text of the next cell; rows fill up one after the other. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Box of ASCII lines, or plain columns with two spaces between them; nothing without rows. */
void table_print(const struct table *table, FILE *out, int box);
void table_free(struct table *table);

#endif
