// docs.mjs - the documents as pages: docs/*.md becomes dist/docs/NAME.html, served at /docs/NAME.
//
//     node web/docs.mjs [ROOT OUT]
//
// docs/index.md is the table of contents: four parts, and in them every document once. A document has one title; its headings
// have the anchors that a reader of the Markdown has too. What leads nowhere (a file, a heading, a document that the contents
// do not name, HTML that is neither a comment nor an anchor) is told with its file, and nothing is written.
import { Marked } from 'marked';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(process.argv[2] ?? path.join(HERE, '..'));
const OUT = path.resolve(process.argv[3] ?? path.join(HERE, 'dist', 'docs'));
const PARTS = ['Tutorial', 'How-to', 'Reference', 'Explanation'];
const BESIDE = { 'ARCHITECTURE.md': 'architecture' }; // documents that lie beside docs/, and are pages as well
const LOOKED_AT = ['README.md', 'STYLE.md', 'CHANGES.md']; // no pages, but what they link to is there
const problems = [];
const pictures = new Set();

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');
const escape = (text) => text.replace(/[&<>"]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one]);
const unescape = (text) => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]);
const bare = (html) => unescape(html.replace(/<[^>]*>/g, ''));

// anchors: what each heading of a document is called in a link, as those who show Markdown have it.
function anchors() {
    const used = new Map();
    return (text) => {
        const slug = text.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-');
        const times = used.get(slug) ?? 0;
        used.set(slug, times + 1);
        return times === 0 ? slug : `${slug}-${times}`;
    };
}

function open(file, name) {
    const text = read(file);
    const tokens = new Marked().lexer(text);
    const inline = new Marked();
    const anchor = anchors();
    const headings = tokens.filter((token) => token.type === 'heading').map((token) => {
        const title = bare(inline.parseInline(token.text));
        return { depth: token.depth, title, id: anchor(title) };
    });
    const titles = headings.filter((heading) => heading.depth === 1);
    if (titles.length !== 1 || headings[0].depth !== 1)
        problems.push(`${file}: it begins with its title, the only heading of the first level; it has ${titles.length}`);
    const marks = [...text.matchAll(/<a id="([a-z-]+)">/g)].map((match) => match[1]);
    return { file, name, text, headings, marks, title: titles[0]?.title ?? name };
}

function documents() {
    const names = fs.readdirSync(path.join(ROOT, 'docs')).filter((name) => name.endsWith('.md')).sort();
    const found = names.map((name) => open(`docs/${name}`, name.slice(0, -3)));
    return [...found, ...Object.entries(BESIDE).map(([file, name]) => open(file, name))];
}

// place: where a link of a file leads, as a path from the root, and its anchor.
function place(file, href) {
    const [target, fragment] = href.split('#');
    return [target === '' ? file : path.posix.normalize(path.posix.join(path.posix.dirname(file), decodeURI(target))), fragment];
}

// lead: what a link is on the site. A file that is no page is told of in words: it lies with the source.
function lead(pages, file, href) {
    if (/^[a-z]+:/.test(href))
        return href;
    const [target, fragment] = place(file, href);
    const page = pages.find((one) => one.file === target);
    if (!page) {
        if (!fs.existsSync(path.join(ROOT, target)))
            problems.push(`${file}: the link to ${href} leads to no file`);
        return null;
    }
    if (fragment !== undefined && !page.marks.includes(fragment) && !page.headings.some((heading) => heading.id === fragment))
        problems.push(`${file}: the link to ${href} leads to no heading of ${target}`);
    const route = page.name === 'index' ? '/docs' : `/docs/${page.name}`;
    return fragment === undefined ? route : `${target === file ? '' : route}#${fragment}`;
}

function renderer(pages, page) {
    let next = 0;
    let section = page.title;
    return {
        heading({ tokens, depth }) {
            const { id, title } = page.headings[next++];
            section = title;
            const link = depth > 1 ? ` <a class="anchor" href="#${id}" aria-label="Link to ${escape(title)}">#</a>` : '';
            return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
        },
        link({ href, tokens }) {
            const words = this.parser.parseInline(tokens);
            const to = lead(pages, page.file, href);
            return to === null ? `<span class="file">${words}</span>` : `<a href="${escape(to)}">${words}</a>`;
        },
        image({ href, text }) {
            const [target] = place(page.file, href);
            if (!fs.existsSync(path.join(ROOT, target)) || !text) {
                problems.push(`${page.file}: the picture ${href} is not there, or has no words for who does not see it`);
                return '';
            }
            const name = path.posix.basename(target);
            pictures.add(target);
            return `<img src="/docs/${escape(name)}" alt="${escape(text)}">`;
        },
        code({ text, lang }) {
            const name = lang ? `${lang}, in ${section}` : `Text in ${section}`;
            return `<pre tabindex="0" role="group" aria-label="${escape(name)}"><code>${escape(text)}</code></pre>\n`;
        },
        table(token) {
            const words = (cell) => this.parser.parseInline(cell.tokens);
            const names = token.header.map((cell) => cell.text === '' ? '<td></td>' : `<th scope="col">${words(cell)}</th>`);
            const head = token.header.some((cell) => cell.text !== '') ? `<thead><tr>${names.join('')}</tr></thead>` : '';
            const rows = token.rows.map((row) => `<tr>${row.map((cell) => `<td>${words(cell)}</td>`).join('')}</tr>`).join('\n');
            return `<div class="table" tabindex="0" role="group" aria-label="Table in ${escape(section)}"><table>${head}<tbody>${rows}</tbody></table></div>\n`;
        },
        html({ text }) {
            const rest = text.replace(/<!--[\s\S]*?-->/g, '').trim();
            if (!/^(<a id="[a-z-]+">|<\/a>)*$/.test(rest))
                problems.push(`${page.file}: HTML that is neither a comment nor an anchor: ${rest.slice(0, 60)}`);
            return rest;
        },
    };
}

// contents: the four parts of docs/index.md, each with its documents in their order.
function contents(pages) {
    const index = pages.find((page) => page.name === 'index');
    const parts = [];
    for (const token of new Marked().lexer(index.text)) {
        if (token.type === 'heading' && token.depth === 2)
            parts.push({ title: token.text, pages: [] });
        for (const item of token.type === 'list' && parts.length > 0 ? token.items : []) {
            const href = /^\[[^\]]+\]\(([^)]+)\)/.exec(item.text)?.[1];
            const page = href && pages.find((one) => one.file === place(index.file, href)[0]);
            if (page)
                parts.at(-1).pages.push(page);
            else
                problems.push(`${index.file}: a line that begins with no document: ${item.text.slice(0, 60)}`);
        }
    }
    if (parts.map((part) => part.title).join() !== PARTS.join())
        problems.push(`${index.file}: its parts are ${PARTS.join(', ')}, in this order`);
    const named = parts.flatMap((part) => part.pages);
    for (const page of pages.filter((one) => one !== index)) {
        const times = named.filter((one) => one === page).length;
        if (times !== 1)
            problems.push(`${index.file}: it names ${page.file} ${times} times, not once`);
    }
    return parts;
}

function navigation(parts, page) {
    const inside = page.headings.filter((heading) => heading.depth === 2)
        .map((heading) => `<li><a href="#${heading.id}">${escape(heading.title)}</a></li>`).join('');
    const entry = (one) => one === page
        ? `<li><a href="/docs/${one.name}" aria-current="page">${escape(one.title)}</a>${inside && `<ul>${inside}</ul>`}</li>`
        : `<li><a href="/docs/${one.name}">${escape(one.title)}</a></li>`;
    return parts.map((part) => `<h2>${part.title}</h2><ul>${part.pages.map(entry).join('\n')}</ul>`).join('\n');
}

function around(parts, page) {
    const order = parts.flatMap((part) => part.pages);
    const at = order.indexOf(page);
    const link = (one, words) => one ? `<a href="/docs/${one.name}">${words}: ${escape(one.title)}</a>` : '<span></span>';
    return at < 0 ? '' : `<nav class="around" aria-label="Before and after">${link(order[at - 1], 'Before')}${link(order[at + 1], 'Next')}</nav>`;
}

function whole(parts, page, body) {
    const title = page.name === 'index' ? 'Peal: documents' : `${page.title} · Peal`;
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header><a class="home" href="/docs">Peal documents</a><a class="to-contents" href="#contents">Contents</a><a href="/">Console</a></header>
<div class="columns">
<nav id="contents" aria-label="Documents">
<a class="close" href="#main">Close contents</a>
${navigation(parts, page)}
</nav>
<main id="main" tabindex="-1">
${body}${around(parts, page)}
</main>
</div>
</body>
</html>
`;
}

function render(pages, page) {
    return new Marked({ renderer: renderer(pages, page) }).parse(page.text);
}

const pages = documents();
const parts = contents(pages);
const made = pages.map((page) => [`${page.name}.html`, whole(parts, page, render(pages, page))]);
for (const file of LOOKED_AT.filter((one) => fs.existsSync(path.join(ROOT, one))))
    new Marked().walkTokens(new Marked().lexer(read(file)), (token) => token.type === 'link' && lead(pages, file, token.href));
if (problems.length > 0) {
    console.error(problems.join('\n'));
    process.exit(1);
}
fs.rmSync(OUT, { recursive: true, force: true });
fs.mkdirSync(OUT, { recursive: true });
for (const [name, html] of made)
    fs.writeFileSync(path.join(OUT, name), html);
fs.copyFileSync(path.join(HERE, 'docs.css'), path.join(OUT, 'style.css'));
for (const picture of pictures)
    fs.copyFileSync(path.join(ROOT, picture), path.join(OUT, path.posix.basename(picture)));
console.log(`${made.length} documents in ${path.relative(process.cwd(), OUT) || '.'}`);
