// SPDX-License-Identifier: MIT
/*
 * neuron-top: the full screen.
 */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "top.h"

#define MIN_DELAY_MS 100
#define MAX_DELAY_MS 60000

static const char *const help[] = {
	"q, F10         quit",
	"Tab, 1 to 4    overview, device, links, processes",
	"left, right    device of the views of one (also a, d)",
	"up, down       scroll (also PgUp, PgDn, Home, End, j, k)",
	"M, N, T        sort processes by memory, number, time",
	"+, -           look less, more often",
	"space          pause; any other look: r",
	"h, ?, F1       this page",
	"",
	"PE%    cycles in which the tensor engines of the cores did not idle",
	"DMA%   time in which the DMA engines had work",
	"MOVED  bytes that they moved, a second",
	"LINKS  ports that carry traffic, of all",
};

static bool colors;
static unsigned int scroll_at;
static bool in_help;

static void set_mark(char mark)
{
	attrset(A_NORMAL);
	if (mark == MARK_BOLD[0])
		attrset(A_BOLD);
	else if (mark == MARK_HEAD[0])
		attrset(A_REVERSE);
	else if (mark < MARK_BOLD[0] && colors)
		attrset(COLOR_PAIR(mark));
	else if (mark == MARK_RED[0])
		attrset(A_BOLD);
}

static void draw_line(int y, const char *text)
{
	int x = 0;

	move(y, 0);
	for (; *text; text++) {
		if (*text <= MARK_END[0]) {
			set_mark(*text);
			continue;
		}
		if (x++ < COLS)
			addch((unsigned char)*text);
	}
	attrset(A_NORMAL);
	if (x < COLS)
		clrtoeol();
}

static void draw_keys(const struct top *top)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "1 Overview 2 Device 3 Links 4 Processes  <> device h help q quit  sorted by %s",
		 order_name(top->order));
	attrset(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	mvaddnstr(LINES - 1, 0, text, COLS - 1);
	attrset(A_NORMAL);
}

static void draw(struct page *page, const struct top *top)
{
	unsigned int rows, i, at;

	erase();
	if (in_help) {
		for (i = 0; i < sizeof(help) / sizeof(help[0]) && (int)i + 2 < LINES; i++)
			mvaddnstr((int)i + 1, 2, help[i], COLS - 3);
		draw_keys(top);
		refresh();
		return;
	}
	page_render(page, top, COLS);
	rows = LINES > 1 ? (unsigned int)LINES - 1 : 1;
	if (page->count <= rows)
		scroll_at = 0;
	else if (scroll_at > page->count - rows)
		scroll_at = page->count - rows;
	for (i = 0; i < rows; i++) {
		at = i < page->head ? i : i + scroll_at;
		if (at < page->count)
			draw_line((int)i, page->line[at]);
	}
	draw_keys(top);
	refresh();
}

static void change_delay(struct top *top, bool longer)
{
	top->delay_ms = longer ? top->delay_ms * 2 : top->delay_ms / 2;
	if (top->delay_ms < MIN_DELAY_MS)
		top->delay_ms = MIN_DELAY_MS;
	if (top->delay_ms > MAX_DELAY_MS)
		top->delay_ms = MAX_DELAY_MS;
}

static void go_to(struct top *top, enum view view)
{
	top->view = view;
	scroll_at = 0;
}

static void change_device(struct top *top, unsigned int step)
{
	top->device = (top->device + step) % top->sample->num_devices;
	scroll_at = 0;
	if (top->view == VIEW_OVERVIEW || top->view == VIEW_PROCESSES)
		top->view = VIEW_DEVICE;
}

static void scroll_by(int lines)
{
	if (lines < 0 && scroll_at < (unsigned int)-lines)
		scroll_at = 0;
	else
		scroll_at += (unsigned int)lines;
}

/* Returns false to quit; @look: do not wait for the next look. */
static bool on_key(struct top *top, int key, bool *look)
{
	if (in_help) {
		in_help = false;
		return key != 'q' && key != KEY_F(10);
	}
	switch (key) {
	case 'q': case 'Q': case KEY_F(10): case 3:
		return false;
	case 'h': case '?': case KEY_F(1):
		in_help = true;
		break;
	case '1': case '2': case '3': case '4':
		go_to(top, (enum view)(key - '1'));
		break;
	case '\t':
		go_to(top, (enum view)((top->view + 1) % NUM_VIEWS));
		break;
	case KEY_BTAB:
		go_to(top, (enum view)((top->view + NUM_VIEWS - 1) % NUM_VIEWS));
		break;
	case KEY_RIGHT: case 'd':
		change_device(top, 1);
		break;
	case KEY_LEFT: case 'a':
		change_device(top, top->sample->num_devices - 1);
		break;
	case KEY_DOWN: case 'j':
		scroll_by(1);
		break;
	case KEY_UP: case 'k':
		scroll_by(-1);
		break;
	case KEY_NPAGE:
		scroll_by(LINES / 2);
		break;
	case KEY_PPAGE:
		scroll_by(-(LINES / 2));
		break;
	case KEY_HOME:
		scroll_at = 0;
		break;
	case KEY_END:
		scroll_by(10000);
		break;
	case 'M': case 'm':
		top->order = ORDER_HBM;
		break;
	case 'N': case 'n':
		top->order = ORDER_PID;
		break;
	case 'T': case 't':
		top->order = ORDER_TIME;
		break;
	case '+': case '-':
		change_delay(top, key == '+');
		break;
	case ' ':
		top->paused = !top->paused;
		*look = !top->paused;
		break;
	case 'r':
		*look = true;
		break;
	}
	return true;
}

int screen_run(struct top *top)
{
	const char *term = getenv("TERM");
	struct page page = { 0 };
	int64_t next = tool_now();
	bool look = false;
	int key, wait;

	setlocale(LC_ALL, "");
	if (!term || !newterm(NULL, stdout, stdin))
		tool_die(TOOL_FAILED, "a terminal TERM=%s is not known here; --once prints plain text",
			 term ? term : "");
	colors = tool_color() && has_colors();
	if (colors) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_YELLOW, -1);
		init_pair(3, COLOR_RED, -1);
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	for (;;) {
		if (look || (!top->paused && tool_now() >= next)) {
			sample_take(top->sample);
			next = tool_now() + top->delay_ms * 1000000ll;
			look = false;
		}
		draw(&page, top);
		wait = (int)((next - tool_now()) / 1000000);
		timeout(top->paused ? 1000 : wait > 0 ? wait : 0);
		key = getch();
		if (key != ERR && key != KEY_RESIZE && !on_key(top, key, &look))
			break;
	}
	endwin();
	page_clear(&page);
	free(page.line);
	return TOOL_OK;
}
