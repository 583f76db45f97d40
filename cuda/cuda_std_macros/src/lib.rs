//! The attribute [`macro@kernel`]; use it through `cuda_std::kernel`.

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, FnArg, GenericParam, Ident, ItemFn, Lit, Pat, Token, Type, Visibility};

/// Turns a function into a GPU kernel that is written once, for the GPU and for the warp emulator.
///
/// The function is `pub unsafe fn name(parameters)`, returns nothing, and has a `# Safety` section that states what its
/// caller must provide. Its parameters are numbers or structs of them (`Plain`), `Global<T>`, `GlobalMut<T>`, and
/// arrays of these with a literal length, such as `[Global<T>; 4]`. It may have type and `u32` const parameters; the
/// attribute then lists what to compile, for example `#[kernel(T: scalars, LANES: [2, 4])]`, where `reals`, `complexes`
/// and `scalars` stand for the number types of that kind, `wide` for the scalars with parts of 64 bits, and `elements`
/// for scalars and pairs of up to 16 bytes. `(V, T): stored` is a type of numbers in memory and the type that kernels
/// compute with (`Stored`): `narrower` excludes those in which both are the same, `stored_each` and `narrower_each`
/// those in which one number stands for all slots, `rounded` those that need a table. It generates:
///
/// - on nvptx64, one entry point for each combination: `name_f32_2`, `name_f32_4`, `name_f64_2`, ...;
/// - elsewhere, a struct that holds the arguments, named like the function in camel case, with the same type
///   parameters. It implements `cuda_std::launch::Kernel`, so the name and the types of a kernel's parameters are
///   declared once for the kernel, the emulator and the launch on a GPU. For the emulator, each combination is compiled
///   together with the kernel; only types that are not in the list are compiled where they are used.
///
/// Doc comments on the parameters become the docs of the struct's fields.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let result = syn::parse(attribute)
        .and_then(|instances| Ok((instances, syn::parse(item)?)))
        .and_then(|(instances, function)| expand(instances, function));
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The number types that kernels are compiled for, by kind: the name in entry points, which is the type's `ENTRY_NAME`,
/// and the type's path. This is the only list of them.
const NUMBERS: &[(&str, &[(&str, &str)])] = &[
    ("reals", &[("f32", "f32"), ("f64", "f64")]),
    ("complexes", &[COMPLEX_64, COMPLEX_128]),
    ("wide", &[("f64", "f64"), COMPLEX_128]),
    ("scalars", &[("f32", "f32"), ("f64", "f64"), COMPLEX_64, COMPLEX_128]),
    (
        "elements",
        &[
            ("f32", "f32"),
            ("f64", "f64"),
            COMPLEX_64,
            COMPLEX_128,
            ("f32x2", "::cuda_std::Pair<f32>"),
            ("f64x2", "::cuda_std::Pair<f64>"),
            ("c32x2", "::cuda_std::Pair<::cuda_std::Complex<f32>>"),
        ],
    ),
];

/// A stored number: the name of both types in entry points, which is `Stored`'s `ENTRY_NAME`, the type in memory and
/// the type that kernels compute with.
type StoredAs = (&'static str, &'static str, &'static str);

/// Stored as computed with. The following three lists contain all others.
const AS_THEY_ARE: &[StoredAs] = &[
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    (COMPLEX_64.0, COMPLEX_64.1, COMPLEX_64.1),
    (COMPLEX_128.0, COMPLEX_128.1, COMPLEX_128.1),
];

/// Rounded to a narrower type.
const ROUNDED: &[StoredAs] = &[
    ("f64of32", "f32", "f64"),
    ("f32of16", "::cuda_std::Float16", "f32"),
    ("f64of16", "::cuda_std::Float16", "f64"),
    ("f32ofb16", "::cuda_std::BFloat16", "f32"),
    ("f64ofb16", "::cuda_std::BFloat16", "f64"),
    ("c64of32", COMPLEX_64.1, COMPLEX_128.1),
];

/// Stored as indices in a table.
const CODES: &[StoredAs] = &[
    ("f32of8", "::cuda_std::Code", "f32"),
    ("f64of8", "::cuda_std::Code", "f64"),
    ("c32of8", "::cuda_std::Code", COMPLEX_64.1),
    ("c64of8", "::cuda_std::Code", COMPLEX_128.1),
];

/// One number for all slots.
const SAME: &[StoredAs] = &[
    ("f32of0", "::cuda_std::Same", "f32"),
    ("f64of0", "::cuda_std::Same", "f64"),
    ("c32of0", "::cuda_std::Same", COMPLEX_64.1),
    ("c64of0", "::cuda_std::Same", COMPLEX_128.1),
];

/// The kinds of pairs `(V, T)`, and the pairs of each.
const PAIRS: &[(&str, &[&[StoredAs]])] = &[
    ("stored", &[AS_THEY_ARE, ROUNDED, CODES, SAME]),
    ("stored_each", &[AS_THEY_ARE, ROUNDED, CODES]),
    ("narrower", &[ROUNDED, CODES, SAME]),
    ("narrower_each", &[ROUNDED, CODES]),
    ("rounded", &[ROUNDED]),
];

const COMPLEX_64: (&str, &str) = ("c32", "::cuda_std::Complex<f32>");
const COMPLEX_128: (&str, &str) = ("c64", "::cuda_std::Complex<f64>");

/// The values that the attribute lists for a generic parameter, or for two that go together.
struct Choice {
    parameters: Vec<Ident>,
    values: Vec<Value>,
}

/// A value of the parameters of a choice: types or a number.
#[derive(Clone)]
struct Value {
    /// Its name in the names of entry points.
    name: String,
    /// One argument per parameter.
    arguments: Vec<Tokens>,
}

struct Instances(Vec<Choice>);

impl Parse for Instances {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let choices = Punctuated::<Choice, Token![,]>::parse_terminated(input)?;
        Ok(Self(choices.into_iter().collect()))
    }
}

impl Parse for Choice {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.peek(syn::token::Paren) {
            return Self::parse_stored(input);
        }
        let parameters = vec![input.parse()?];
        input.parse::<Token![:]>()?;
        if input.peek(syn::Ident) {
            let kind: Ident = input.parse()?;
            let named = NUMBERS.iter().find(|(name, _)| kind == name);
            let expected = "expected `reals`, `complexes`, `wide`, `scalars`, `elements` or a list";
            let (_, types) = named.ok_or_else(|| Error::new_spanned(&kind, expected))?;
            let value = |&(name, path): &(&str, &str)| Value::of_types(name, &[path]);
            return Ok(Self { parameters, values: types.iter().map(value).collect::<syn::Result<_>>()? });
        }
        let list;
        syn::bracketed!(list in input);
        let value = |input: ParseStream| {
            if input.peek(syn::LitInt) {
                input.parse::<syn::LitInt>().map(|number| quote!(#number))
            } else {
                input.parse::<Ident>().map(|name| quote!(#name))
            }
        };
        let values = Punctuated::<Tokens, Token![,]>::parse_terminated_with(&list, value)?;
        let values = values.into_iter().map(|tokens| Value { name: tokens.to_string(), arguments: vec![tokens] });
        Ok(Self { parameters, values: values.collect() })
    }
}

impl Choice {
    /// Parses `(V, T): stored`, or another kind of pairs.
    fn parse_stored(input: ParseStream) -> syn::Result<Self> {
        let pair;
        syn::parenthesized!(pair in input);
        let parameters = Punctuated::<Ident, Token![,]>::parse_terminated(&pair)?;
        input.parse::<Token![:]>()?;
        let kind: Ident = input.parse()?;
        let named = PAIRS.iter().find(|(name, _)| kind == name).filter(|_| parameters.len() == 2);
        let expected = "expected two types and `stored`, `stored_each`, `narrower`, `narrower_each` or `rounded`";
        let (_, lists) = named.ok_or_else(|| Error::new_spanned(&kind, expected))?;
        let all = lists.iter().copied().flatten().copied();
        let values = all.map(|(name, stored, number)| Value::of_types(name, &[stored, number]));
        Ok(Self { parameters: parameters.into_iter().collect(), values: values.collect::<syn::Result<_>>()? })
    }
}

impl Value {
    /// The types with these paths.
    fn of_types(name: &str, paths: &[&str]) -> syn::Result<Self> {
        let ty = |path: &&str| Ok(syn::parse_str::<Type>(path)?.into_token_stream());
        Ok(Self { name: name.into(), arguments: paths.iter().map(ty).collect::<syn::Result<_>>()? })
    }
}

/// A parameter of the kernel, without its doc comments.
struct Parameter {
    docs: Vec<Attribute>,
    name: Ident,
    ty: Type,
    /// For an array: the name of each element as a parameter of the entry point, and their type.
    elements: Option<(Vec<Ident>, Type)>,
}

impl Parameter {
    fn new(docs: Vec<Attribute>, name: &Ident, ty: &Type) -> syn::Result<Self> {
        let elements = match ty {
            Type::Array(array) => {
                let Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) = &array.len else {
                    return Err(Error::new_spanned(
                        &array.len,
                        "the length of an array parameter of a kernel must be a literal",
                    ));
                };
                let names = (0..length.base10_parse()?).map(|place: usize| format_ident!("{name}_{place}"));
                Some((names.collect(), (*array.elem).clone()))
            }
            _ => None,
        };
        Ok(Self { docs, name: name.clone(), ty: ty.clone(), elements })
    }

    /// The declaration in the entry point. The GPU's calling convention has no arrays: each element is a parameter.
    fn declared(&self) -> Tokens {
        match &self.elements {
            Some((names, ty)) => quote!(#(#names: #ty),*),
            None => {
                let (name, ty) = (&self.name, &self.ty);
                quote!(#name: #ty)
            }
        }
    }

    /// The argument that the entry point passes to the kernel.
    fn passed(&self) -> Tokens {
        match &self.elements {
            Some((names, _)) => quote!([#(#names),*]),
            None => self.name.to_token_stream(),
        }
    }

    /// The statement that adds it to a list of arguments.
    fn listed(&self) -> Tokens {
        let name = &self.name;
        match &self.elements {
            Some(_) => quote!(for element in &self.#name { list.add(element); }),
            None => quote!(list.add(&self.#name);),
        }
    }
}

fn expand(Instances(choices): Instances, mut function: ItemFn) -> syn::Result<Tokens> {
    let parameters = take_parameters(&mut function)?;
    check_choices(&choices, &function)?;
    let entries = entries(&choices, &function, &parameters);
    let arguments = argument_struct(&choices, &function, &parameters);
    Ok(quote! {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        #function
        #entries
        #arguments
    })
}

fn take_parameters(function: &mut ItemFn) -> syn::Result<Vec<Parameter>> {
    if function.sig.unsafety.is_none() || !matches!(function.vis, Visibility::Public(_)) {
        return Err(Error::new_spanned(&function.sig, "a kernel must be a `pub unsafe fn`"));
    }
    let parameter = |input: &mut FnArg| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => Parameter::new(std::mem::take(&mut typed.attrs), &name.ident, &typed.ty),
            other => Err(Error::new_spanned(other, "a kernel's parameter must be a plain name")),
        },
        FnArg::Receiver(receiver) => Err(Error::new_spanned(receiver, "a kernel cannot take `self`")),
    };
    function.sig.inputs.iter_mut().map(parameter).collect()
}

fn check_choices(choices: &[Choice], function: &ItemFn) -> syn::Result<()> {
    let names = |parameter: &GenericParam| match parameter {
        GenericParam::Type(parameter) => Some(parameter.ident.clone()),
        GenericParam::Const(parameter) => Some(parameter.ident.clone()),
        GenericParam::Lifetime(_) => None,
    };
    let declared: Vec<_> = function.sig.generics.params.iter().filter_map(names).collect();
    let listed: Vec<_> = choices.iter().flat_map(|choice| choice.parameters.clone()).collect();
    if declared != listed || declared.len() != function.sig.generics.params.len() {
        let message = "list every generic parameter, in order: #[kernel(T: scalars, LANES: [2, 4])]";
        return Err(Error::new_spanned(&function.sig, message));
    }
    Ok(())
}

/// Each combination of the listed values.
fn combinations(choices: &[Choice]) -> Vec<Vec<Value>> {
    choices.iter().fold(vec![Vec::new()], |combinations, choice| {
        let with_next =
            |begun: Vec<_>| choice.values.iter().map(move |value| [&begun[..], std::slice::from_ref(value)].concat());
        combinations.into_iter().flat_map(with_next).collect()
    })
}

/// The entry points for nvptx64, one for each combination of the listed values.
fn entries(choices: &[Choice], function: &ItemFn, parameters: &[Parameter]) -> Tokens {
    let name = &function.sig.ident;
    let (declared, passed): (Vec<_>, Vec<_>) = parameters.iter().map(|p| (p.declared(), p.passed())).unzip();
    let entries = combinations(choices).into_iter().map(|values| {
        let entry = values.iter().fold(name.to_string(), |entry, value| format!("{entry}_{}", value.name));
        let entry = Ident::new(&entry, Span::call_site());
        // The aliases replace the generic parameters in the types of the entry's parameters.
        let values: Vec<_> = values.iter().flat_map(|value| &value.arguments).collect();
        let aliases = function.sig.generics.params.iter().zip(&values).map(|(parameter, value)| match parameter {
            GenericParam::Const(parameter) => {
                let (name, ty) = (&parameter.ident, &parameter.ty);
                quote!(#[allow(dead_code)] const #name: #ty = #value;)
            }
            GenericParam::Type(parameter) => {
                let name = &parameter.ident;
                quote!(#[allow(dead_code)] type #name = #value;)
            }
            GenericParam::Lifetime(_) => Tokens::new(),
        });
        quote! {
            #[cfg(target_arch = "nvptx64")]
            const _: () = {
                #(#aliases)*
                #[unsafe(no_mangle)]
                pub unsafe extern "ptx-kernel" fn #entry(#(#declared),*) {
                    // SAFETY: the caller's promise is the kernel's own.
                    unsafe { self::#name::<#(#values),*>(#(#passed),*) }
                }
            };
        }
    });
    quote!(#(#entries)*)
}

/// The struct of arguments for the host.
fn argument_struct(choices: &[Choice], function: &ItemFn, parameters: &[Parameter]) -> Tokens {
    let function_name = &function.sig.ident;
    let name = format_ident!("{}", camel_case(&function_name.to_string()));
    let entry = function_name.to_string();
    let summary = format!("The arguments of the kernel [`{function_name}`].");
    let generics = &function.sig.generics;
    let (implementation, ty, where_clause) = generics.split_for_impl();
    let fields = parameters.iter().map(|Parameter { docs, name, ty, .. }| quote!(#(#docs)* pub #name: #ty));
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let listed = parameters.iter().map(Parameter::listed);
    let is_number = |name: &Ident| {
        generics.params.iter().any(|p| matches!(p, GenericParam::Const(parameter) if parameter.ident == *name))
    };
    let parts = choices.iter().map(|choice| match &choice.parameters[..] {
        [stored, number] => quote! { <#stored as ::cuda_std::Stored<#number>>::ENTRY_NAME },
        [name] if is_number(name) => {
            let (values, texts): (Vec<_>, Vec<_>) =
                choice.values.iter().map(|value| (&value.arguments[0], &value.name)).unzip();
            quote! {
                match #name { #(#values => #texts,)* _ => ::core::panic!("not one of the kernel's instances") }
            }
        }
        [name] => quote! { <#name as ::cuda_std::EntryName>::ENTRY_NAME },
        _ => unreachable!("a choice is for one parameter or two"),
    });
    let call = |values: &[&dyn ToTokens]| {
        quote! {
            // SAFETY: by the caller's promise the pointer is to these arguments; the rest is the kernel's own contract.
            unsafe {
                let arguments = &*kernel.cast::<#name<#(#values),*>>();
                #function_name::<#(#values),*>(#(arguments.#names),*)
            }
        }
    };
    let instances = combinations(choices).into_iter().map(|values| {
        let values: Vec<_> = values.iter().flat_map(|value| &value.arguments).collect();
        let call = call(&values.iter().map(|value| *value as &dyn ToTokens).collect::<Vec<_>>());
        quote! {{
            unsafe fn instance(kernel: *const ::core::ffi::c_void) {
                #call
            }
            (<#name<#(#values),*> as ::cuda_std::launch::Kernel>::ENTRY, instance as ::cuda_std::launch::Run)
        }}
    });
    let parameters = choices.iter().flat_map(|choice| &choice.parameters);
    let other = call(&parameters.map(|parameter| parameter as &dyn ToTokens).collect::<Vec<_>>());
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #summary]
        #[derive(Clone, Copy)]
        pub struct #name #generics #where_clause { #(#fields),* }

        // SAFETY: the entry point is generated from the same function, with the same name and parameters.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe impl #implementation ::cuda_std::launch::Kernel for #name #ty #where_clause {
            const ENTRY: ::cuda_std::launch::Entry = ::cuda_std::launch::Entry::new(#entry, [#(#parts),*]);

            const RUN: ::cuda_std::launch::Run =
                ::cuda_std::launch::compiled(Self::ENTRY, &[#(#instances),*], |kernel| #other);

            fn arguments<'a>(&'a self, list: &mut ::cuda_std::launch::Arguments<'a>) {
                #(#listed)*
            }
        }
    }
}

fn camel_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}
