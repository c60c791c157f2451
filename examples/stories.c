/* stories.c -- short stories, made by a rule: a text of any length to train a small model on.
 *
 *     stories 20000 >stories.txt                     or  make story, which trains a model on it
 *
 * Every story has a hero and a friend, each with a name, a kind and a pronoun, one thing and one
 * place, all drawn once; seven sentences or more are drawn from lists and say them again and again.
 * So a model is asked for more than words that go together: in the last line of a story, whose name
 * it is, whether he or she, and what was lost stand many tokens before.
 *
 * A sentence is a pattern in which {A} is the hero's name, {B} the friend's, {a} and {b} what kind
 * of beings they are, {h} {s} {m} the hero's he, his, him, {H} {S} {M} the friend's, {t} the thing,
 * {p} the place; {x} begins a sentence: He or She.  Story i follows from i alone. */
#include "attic.h"

#include <ctype.h>
#include <string.h>

#include "common/options.h"

static int seed = 1;
static const option options[] = {{"seed", &seed, NULL, NULL, 0, 1e9, "of everything"}, {0}};

static const char *const he[] = {"Tom",  "Ben",  "Max", "Sam",  "Leo",   "Jack", "Finn", "Otto",
                                 "Hugo", "Paul", "Rex", "Theo", "Barny", "Milo", "Karl", "Pip"};
static const char *const she[] = {"Lily",  "Mia",   "Anna", "Ella", "Rosa", "Sue",
                                  "Ida",   "Lucy",  "Emma", "Nora", "Zoe",  "Mary",
                                  "Tilly", "Flora", "June", "Wilma"};
static const char *const kinds[] = {"rabbit", "boy/girl", "fox",  "bear",     "duck", "mouse",
                                    "cat",    "dog",      "frog", "hedgehog", "goat", "badger"};
static const char *const moods[] = {"small",   "young", "brave", "shy",  "clever",
                                    "curious", "quiet", "merry", "lazy", "kind"};
static const char *const things[] = {
    "red ball",      "blue kite",  "wooden boat", "silver bell",    "green hat",  "golden key",
    "little drum",   "warm scarf", "round stone", "bright lantern", "yellow cup", "paper star",
    "white feather", "big apple",  "tin whistle", "picture book"};
static const char *const places[] = {"the river",     "the old mill",   "the forest", "the hill",
                                     "the garden",    "the pond",       "the market", "the bridge",
                                     "the tall tree", "the stone wall", "the meadow", "the barn"};

static const char *const openings[] = {
    "Once upon a time there was a {q} {a} named {A}. {x} lived near {p}.",
    "{A} was a {q} {a}. Every morning {h} walked to {p}.",
    "There was once a {q} {a}. {s'} name was {A}, and {s} home was by {p}.",
    "Near {p} lived a {a} who was called {A}. {x} was very {q}."};
static const char *const wishes[] = {
    "{A} had a {t}. {x} loved it more than anything else.",
    "One day {A} found a {t}. \"How beautiful!\" {h} said, and took it home.",
    "On {s} birthday {A} got a {t}. {x} played with it all day.",
    "{A} had always wanted a {t}. One day {s} mother gave {m} one."};
static const char *const troubles[] = {
    "But in the night the wind came and carried the {t} away.",
    "But one day {A} could not find the {t}. {x} looked under the bed and behind the door.",
    "But when {h} crossed the water, the {t} fell in and was gone.",
    "Then a big crow came, took the {t} and flew off with it.",
    "But {h} fell asleep by {p}, and when {h} woke up, the {t} was gone."};
static const char *const tears[] = {
    "{A} was very sad. {x} sat down and cried.", "\"Oh no!\" said {A}. \"Where is my {t}?\"",
    "{A} did not know what to do.", "{x} looked everywhere, but it was not there."};
static const char *const meetings[] = {
    "Then {B} came along. {B} was a {r} {b}, and {s} best friend.",
    "A {r} {b} named {B} heard {m} and came to help.",
    "{A} went to {B}, the {r} {b}, and told {M} everything.",
    "Just then a {b} came by. It was {B}, who was very {r}."};
static const char *const words[] = {
    "\"Do not cry, {A}\", said {B}. \"We will look for the {t} together.\"",
    "\"What is the matter?\" asked {B}. \"I have lost my {t}\", said {A}.",
    "{B} thought for a while. \"I know where the {t} may be\", {H} said.",
    "\"I saw a {t} near {p}\", said {B}. \"Come with me, {A}!\""};
static const char *const deeds[] = {
    "So {A} and {B} went to {p}. They looked behind every stone.",
    "They walked and walked until they came to {p}.",
    "{B} climbed up high and looked around, while {A} waited below.",
    "{A} looked on the left, and {B} looked on the right.",
    "They asked everybody whom they met: \"Have you seen a {t}?\""};
static const char *const finds[] = {
    "And there it was! The {t} lay in the grass near {p}.",
    "At last {B} saw something shine. It was the {t}! {H'} gave it back to {A}.",
    "\"Look, {A}!\" cried {B}. Under a leaf was the {t}.",
    "They did not find the {t}. But {B} gave {A} {S} own, which was even better."};
static const char *const endings[] = {
    "{A} was so happy that {h} danced. \"Thank you, {B}!\" {h} said.",
    "{A} thanked {B}, and from that day on they were always together.",
    "\"You are a real friend, {B}\", said {A}, and {h} took {s} {t} home.",
    "That evening {A} and {B} sat by {p} and laughed. {A} never lost {s} {t} again.",
    "{A} gave {B} a big hug. Then they both went home and slept well."};

typedef struct {
    const char *name, *mood;
    char kind[16];
    bool is_he;
} being;

typedef struct {
    at_stream dice;
    uint64_t next;
    being hero, friend;
    const char *thing, *place;
} story;

static int pick(story *s, int n)
{
    return (int)(at_random_unit(s->dice, s->next++) * n);
}
#define PICK(list) (list)[pick(s, (int)(sizeof(list) / sizeof *(list)))]

static being draw_being(story *s)
{
    being b = {.is_he = pick(s, 2)};
    b.name = b.is_he ? PICK(he) : PICK(she);
    b.mood = PICK(moods);
    const char *kind = PICK(kinds), *other = strchr(kind, '/'); /* boy/girl */
    snprintf(b.kind, sizeof b.kind, "%s", other && !b.is_he ? other + 1 : kind);
    if (other && b.is_he) b.kind[other - kind] = 0;
    return b;
}

static const char *slot(const story *s, char c)
{
    const being *a = &s->hero, *b = &s->friend;
    switch (c) {
    case 'A': return a->name;
    case 'a': return a->kind;
    case 'q': return a->mood;
    case 'h':
    case 'x': return a->is_he ? "he" : "she";
    case 's': return a->is_he ? "his" : "her";
    case 'm': return a->is_he ? "him" : "her";
    case 'B': return b->name;
    case 'b': return b->kind;
    case 'r': return b->mood;
    case 'H': return b->is_he ? "he" : "she";
    case 'S': return b->is_he ? "his" : "her";
    case 'M': return b->is_he ? "him" : "her";
    case 't': return s->thing;
    default: return s->place;
    }
}

/* {x}, and a letter with a stroke behind it, begin a sentence. */
static void tell(const story *s, const char *pattern, const char *behind)
{
    for (const char *p = pattern; *p; p++) {
        if (*p != '{') {
            putchar(*p);
            continue;
        }
        const char *text = slot(s, p[1]);
        const bool begins = p[1] == 'x' || p[2] == '\'';
        putchar(begins ? toupper((unsigned char)*text) : *text);
        fputs(text + 1, stdout);
        p = strchr(p, '}');
    }
    fputs(behind, stdout);
}

static void tell_story(uint64_t number)
{
    story one = {.dice = {(uint64_t)seed, number}}, *s = &one;
    s->hero = draw_being(s);
    do s->friend = draw_being(s);
    while (s->friend.name == s->hero.name || !strcmp(s->friend.kind, s->hero.kind));
    s->thing = PICK(things), s->place = PICK(places);
    tell(s, PICK(openings), " ");
    tell(s, PICK(wishes), "\n");
    tell(s, PICK(troubles), " ");
    tell(s, PICK(tears), "\n");
    tell(s, PICK(meetings), " ");
    tell(s, PICK(words), " ");
    const int n = sizeof deeds / sizeof *deeds, first = pick(s, n), second = 1 + pick(s, 2 * n - 1);
    tell(s, deeds[first], " ");
    if (second < n) tell(s, deeds[(first + second) % n], " "); /* another one, for about half */
    tell(s, PICK(finds), "\n");
    tell(s, PICK(endings), "\n\n");
}

int main(int argc, char **argv)
{
    int first = parse_options(argc, argv, "usage: stories [--seed 1] COUNT\n", options, 1),
        count = 10;
    if (first < argc && !read_int(argv[first], 0, 1000000000, &count)) {
        fprintf(stderr, "stories: \"%s\" is no number of stories\n", argv[first]);
        return 2;
    }
    for (int i = 0; i < count; i++) tell_story((uint64_t)i);
    return finish(0);
}
