// How modules are grouped into files: a browser reads few large files sooner than a hundred small ones, but a page must
// not wait for code that it does not use. A group also takes what its modules import, unless a group before it has that.

/** Inputs of forms and dialogs, which are rarely in the first view of a page. */
const FORMS =
  /NumberInput|react-number-format|MultiSelect|TagsInput|Textarea|PasswordInput|Pill|use-pills|Autocomplete|Radio|Switch|FileInput|FileButton|@mantine\/form|klona|fast-deep-equal/;

/** What few pages use, or only their dialogs, although several entries import it. */
const LATER =
  /\/i18n\/|\/src\/features\/(?!.*\.module\.css)|\/widgets\/(flame-graph|charts|scheduler)\/|\/widgets\/timeline\/(?!useTimelineData|changes|api\.ts)|\/d3-|internmap|\/core\/(profiles|incidents)\/|(?<!components\/)Dialog|SecretField|mantine\/(notifications|store)|SplitPane|FormFields|[Vv]irtual|fleet\.ts/;

const isCommon = (id: string): boolean => !FORMS.test(id) && !LATER.test(id);

/** Entries (pages, dialogs and parts that are loaded later) that must share a module to load it with each page. */
const MANY_ENTRIES = 2;

const inWidget = (names: string): RegExp => new RegExp(`/src/widgets/(${names})/(?!i18n)`);

export const CHUNK_GROUPS = [
  { name: "start", tags: ["$initial" as const], priority: 9 },
  { name: "pages", test: isCommon, minShareCount: MANY_ENTRIES, priority: 8 },
  // Drawn by charts of runs too, which do not need the rest of a flame graph.
  { name: "heatmap", test: /\/flame-graph\/SampleHeatmap/, priority: 6 },
  { name: "findings", test: inWidget("findings|pins|host-context|capture-progress"), priority: 6 },
  { name: "timeline", test: inWidget("timeline"), priority: 5 },
  { name: "charts", test: inWidget("charts"), priority: 3 },
  { name: "scheduler", test: inWidget("scheduler"), priority: 4 },
  {
    name: "flame-graph",
    test: /\/src\/widgets\/flame-graph\/(?!i18n)|\/node_modules\/(d3-|internmap)/,
    priority: 3,
  },
  {
    name: "incidents",
    test: /\/src\/(features\/incidents\/(page|answer|chain|evidence|next-step)\/(?!IncidentTimeline|useIncidentMarks|PinsPanel)|core\/incidents\/)/,
    priority: 2,
  },
  { name: "forms", test: (id: string) => id.includes("/node_modules/") && FORMS.test(id), priority: 1 },
];
