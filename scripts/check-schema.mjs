// check-schema.mjs SCHEMA FILE... -- are these JSON files as the schema says, and do all arrays have the
// shape that stands beside them?  Prints what is wrong, and then ends with status 1.
//
// It knows the part of JSON Schema (draft 2020-12) that course/trace.schema.json uses, and refuses any other
// keyword, so that nothing goes unchecked.
import { readFileSync } from 'node:fs'

const [schemaPath, ...files] = process.argv.slice(2)
const schema = JSON.parse(readFileSync(schemaPath))
const notes = ['$schema', '$defs', 'title', 'description']

const typeOf = x => (x === null ? 'null' : Array.isArray(x) ? 'array' : typeof x)
const hasType = (x, type) => (type === 'integer' ? Number.isInteger(x) : typeOf(x) === type)

function definition(ref) {
    const found = ref.startsWith('#/$defs/') && schema.$defs[ref.slice(8)]
    if (!found) throw new Error(`${schemaPath}: there is no ${ref}`)
    return found
}

const where = (path, key) => `${path}.${key}`

// keyword: (its value, x, path, the schema that it stands in) -> what is wrong with x
const keywords = {
    $ref: (ref, x, path) => check(definition(ref), x, path),
    type: (type, x, path) => (hasType(x, type) ? [] : [`${path} is no ${type}`]),
    const: (value, x, path) => (x === value ? [] : [`${path} is not ${JSON.stringify(value)}`]),
    enum: (values, x, path) => (values.includes(x) ? [] : [`${path} is none of ${values.join(', ')}`]),
    minimum: (least, x, path) => (x >= least ? [] : [`${path} is less than ${least}`]),
    maximum: (most, x, path) => (x <= most ? [] : [`${path} is more than ${most}`]),
    minItems: (least, x, path) =>
        Array.isArray(x) && x.length < least ? [`${path} has fewer than ${least} items`] : [],
    maxItems: (most, x, path) =>
        Array.isArray(x) && x.length > most ? [`${path} has more than ${most} items`] : [],
    items: (item, x, path) =>
        Array.isArray(x) ? x.flatMap((e, i) => check(item, e, `${path}[${i}]`)) : [],
    required: (keys, x, path) => keys.filter(key => !(key in x)).map(key => `${where(path, key)} is missing`),
    dependentRequired: (of, x, path) =>
        Object.keys(of).filter(key => key in x).flatMap(key => keywords.required(of[key], x, path)),
    properties: (of, x, path) =>
        Object.keys(of).filter(key => key in x).flatMap(key => check(of[key], x[key], where(path, key))),
    additionalProperties: (allowed, x, path, { properties }) =>
        Object.keys(x).filter(key => !allowed && !(key in properties)).map(key => `${where(path, key)} is unknown`),
    anyOf: (choices, x, path) => {
        const wrong = choices.map(choice => check(choice, x, path))
        return wrong.some(w => w.length === 0) ? [] : wrong.at(-1)
    },
}

function check(of, x, path) {
    if ('type' in of && !hasType(x, of.type)) return keywords.type(of.type, x, path)
    return Object.keys(of).filter(key => !notes.includes(key)).flatMap(key => {
        if (!(key in keywords)) throw new Error(`${schemaPath}: this checker does not know ${key}`)
        return keywords[key](of[key], x, path, of)
    })
}

const hasShape = (x, [n, ...rest]) =>
    n === undefined ? !Array.isArray(x) : Array.isArray(x) && x.length === n && x.every(e => hasShape(e, rest))

// every object with a shape: its arrays of numbers have it
function checkShapes(x, path) {
    if (x === null || typeof x !== 'object') return []
    const arrays = x.shape ? ['values', 'numerical', 'unsure'].filter(key => key in x) : []
    const wrong = arrays.filter(key => !hasShape(x[key], x.shape))
        .map(key => `${where(path, key)} is not of the shape [${x.shape}]`)
    return wrong.concat(Object.keys(x).flatMap(key => checkShapes(x[key], where(path, key))))
}

let bad = 0
for (const file of files) {
    let wrong
    try {
        const x = JSON.parse(readFileSync(file))
        wrong = check(schema, x, '').concat(checkShapes(x, ''))
    } catch (error) {
        wrong = [error.message]
    }
    for (const line of wrong.slice(0, 5)) console.log(`    ${file}: ${line}`)
    bad += wrong.length > 0
}
if (files.length === 0) console.log('    there is no file to check')
process.exitCode = bad || files.length === 0 ? 1 : 0
