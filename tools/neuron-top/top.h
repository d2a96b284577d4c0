/* SPDX-License-Identifier: MIT */
/*
 * What the parts of neuron-top share. A page is lines of text with marks for
 * colours in it; a screen shows it with them, a pipe gets it without.
 */
#ifndef TOP_H
#define TOP_H

#include "sample.h"

/* Marks: what follows is so, up to MARK_END. */
#define MARK_GREEN "\001"
#define MARK_YELLOW "\002"
#define MARK_RED "\003"
#define MARK_BOLD "\004"
#define MARK_HEAD "\005"
#define MARK_END "\006"

/** enum view - what is looked at */
enum view { VIEW_OVERVIEW, VIEW_DEVICE, VIEW_LINKS, VIEW_PROCESSES, NUM_VIEWS };

/** enum order - of processes */
enum order { ORDER_HBM, ORDER_PID, ORDER_TIME, NUM_ORDERS };

/**
 * struct top - what is shown, and how
 */
struct top {
	struct sample *sample;
	enum view view;
	enum order order;
	/** @device: the one that views of one device show */
	unsigned int device;
	/** @delay_ms: from look to look */
	unsigned int delay_ms;
	bool paused;
};

/**
 * struct page - lines; the first @head ones do not scroll
 */
struct page {
	char **line;
	unsigned int count, room, head;
};

const char *view_name(enum view view);
const char *order_name(enum order order);
/* The whole page, @width columns wide. */
void page_render(struct page *page, const struct top *top, int width);
void page_clear(struct page *page);
/* Without marks, on standard output. */
void page_print(const struct page *page);

/* JSON object with all that the views show. */
void top_json(const struct top *top);

/* Full screen, until the user quits. */
int screen_run(struct top *top);

#endif
